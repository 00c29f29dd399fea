package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"slices"
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/credential"
	"github.com/flagraft/flagraft/server/route"
)

const (
	// authenticator is the only method there is: an app that shows codes.
	authenticator = "app"
	// issuer is what the app shows beside the account.
	issuer      = "flagraft"
	backupCodes = 5
)

// factorItem is a second factor as the API shows it.
type factorItem struct {
	Name      string `json:"name"`
	IsPrimary bool   `json:"is_primary"`
}

type factorRef struct {
	Method string `path:"method"`
}

type factorCode struct {
	factorRef
	Code string `json:"code" v:"required,max=20"`
}

// enrolment is what the app needs; it is shown once.
type enrolment struct {
	QRLink string `json:"qr_link"`
	Secret string `json:"secret"`
}

type enrolled struct {
	BackupCodes []string `json:"backup_codes"`
}

// factorFault is how the reference words its refusals here.
type factorFault struct {
	Error string `json:"error"`
}

func secondFactorRows() []route.Row {
	const method = "/api/v1/auth/{method}/"
	unknownMethod := []int{404} // with an error instead of a detail
	return []route.Row{
		{Method: "GET", Path: "/api/v1/auth/mfa/user-active-methods/", OperationID: "api_v1_auth_mfa_user_active_methods_retrieve",
			Tag: "Authentication", Summary: "The second factors that protect the account.", Auth: route.User, Handler: read(listFactors)},
		{Method: "POST", Path: method + "activate/", OperationID: "api_v1_auth_activate_create", Tag: "Authentication",
			Summary: "Begin with an authenticator app (method app): the answer holds its secret.", Auth: route.User, Refusals: unknownMethod,
			Kind: route.Write, Handler: write(beginFactor)},
		{Method: "POST", Path: method + "activate/confirm/", OperationID: "api_v1_auth_activate_confirm_create", Tag: "Authentication",
			Summary: "Protect the account, with a code of the app. The answer holds the backup codes; they are not shown again.", Auth: route.User,
			Refusals: unknownMethod, Kind: route.Write, Handler: write(confirmFactor)},
		{Method: "POST", Path: method + "deactivate/", OperationID: "api_v1_auth_deactivate_create", Tag: "Authentication",
			Summary: "End the account's protection by the app.", Auth: route.User, Refusals: unknownMethod, Kind: route.Write, Status: 204,
			Handler: write(endFactor)},
	}
}

func listFactors(c *Ctx, _ struct{}) ([]factorItem, error) {
	if f, ok := activeFactor(c, c.Principal.UserID()); ok {
		return []factorItem{{Name: f.Method, IsPrimary: true}}, nil
	}
	return nil, nil
}

func beginFactor(c *Ctx, in factorRef) (enrolment, error) {
	f, err := in.find(c)
	if err != nil {
		return enrolment{}, err
	}
	if f.IsActive {
		return enrolment{}, refuseFactor(400, "MFA method already active.")
	}
	f.User, f.Method, f.Secret = c.Principal.User.ID, in.Method, credential.NewTOTPSecret()
	fsm.SecondFactors.Put(c.Tx, f)
	link := "otpauth://totp/" + issuer + ":" + url.QueryEscape(c.Principal.User.Email) + "?secret=" + f.Secret + "&issuer=" + issuer
	return enrolment{QRLink: link, Secret: f.Secret}, nil
}

func confirmFactor(c *Ctx, in factorCode) (enrolled, error) {
	f, err := in.find(c)
	switch {
	case err != nil:
		return enrolled{}, err
	case f.ID == 0:
		return enrolled{}, refuseFactor(400, "Requested MFA method does not exist.")
	case f.IsActive:
		return enrolled{}, refuseFactor(400, "MFA method already active.")
	}
	if _, ok := credential.MatchTOTP(f.Secret, in.Code, c.Wall().Std()); !ok {
		return enrolled{}, route.Field("code", "Code invalid or expired.")
	}
	var out enrolled
	f.IsActive, f.BackupCodes = true, nil
	for range backupCodes {
		code := credential.NewBackupCode()
		out.BackupCodes = append(out.BackupCodes, code)
		f.BackupCodes = append(f.BackupCodes, hashCode(code))
	}
	fsm.SecondFactors.Put(c.Tx, f)
	return out, nil
}

func endFactor(c *Ctx, in factorRef) (route.Empty, error) {
	f, err := in.find(c)
	if err != nil {
		return c.fail(err)
	}
	if !f.IsActive {
		return c.fail(refuseFactor(400, "2FA is not enabled."))
	}
	fsm.SecondFactors.Delete(c.Tx, f.ID)
	fsm.OneTimeTokensByUser.DeleteAll(c.Tx, f.User, fsm.PurposeSecondStep)
	c.Mail(c.Principal.User.Email, "Two-factor sign-in is off", "Your account is not protected by an authenticator app any more.\n\n"+
		"If you did not do this, change your password and tell your administrator.\n")
	return c.OK()
}

// find gets the caller's factor, active or only begun, or a zero row.
func (in factorRef) find(c *Ctx) (fsm.SecondFactor, error) {
	if in.Method != authenticator {
		return fsm.SecondFactor{}, refuseFactor(404, "Requested MFA method does not exist.")
	}
	f, _ := fsm.SecondFactorsByUser.First(c, c.Principal.User.ID)
	return f, nil
}

func refuseFactor(status int, message string) error { return route.Body(status, factorFault{message}) }

// activeFactor gets the factor that protects an account.
func activeFactor(r fsm.Reader, user uint64) (fsm.SecondFactor, bool) {
	for f := range fsm.SecondFactorsByUser.All(r, user) {
		if f.IsActive {
			return f, true
		}
	}
	return fsm.SecondFactor{}, false
}

// spendCode gives the factor as it is when a code of it was used: no code works twice.
func spendCode(f fsm.SecondFactor, code string, now fsm.Time) (fsm.SecondFactor, bool) {
	code = strings.TrimSpace(code)
	if step, ok := credential.MatchTOTP(f.Secret, code, now.Std()); ok && step > f.LastStep {
		f.LastStep = step
		return f, true
	}
	hash, at := hashCode(code), -1
	for i, h := range f.BackupCodes {
		if subtle.ConstantTimeCompare(h, hash) == 1 {
			at = i
		}
	}
	if at < 0 {
		return f, false
	}
	f.BackupCodes = slices.Delete(slices.Clone(f.BackupCodes), at, at+1)
	return f, true
}

// hashCode is what is stored of a backup code. It is random: a fast hash is enough.
func hashCode(code string) []byte {
	h := sha256.Sum256([]byte(code))
	return h[:]
}
