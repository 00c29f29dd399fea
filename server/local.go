package server

import (
	"strings"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// tagSystem marks the rows that are about the node itself; also a node that was removed from its cluster answers them.
const tagSystem = "System"

// localRows are the endpoints about this node: health and version on the API port (ADMIN §13), and files that browsers ask for.
func (n *Node) localRows() []route.Row {
	row := func(path, id string, h route.Handler) route.Row {
		return route.Row{Method: "GET", Path: path, OperationID: id, Tag: tagSystem, Kind: route.Local, Hidden: true, Handler: h}
	}
	return []route.Row{
		row("/health", "health", route.Func(n.health)),
		row("/healthcheck", "healthcheck", route.Func(n.health)),
		row("/health/readiness/", "health_readiness", route.Func(n.health)),
		row("/health/liveness/", "health_liveness", route.Func(liveness)),
		row("/version/", "version", route.Func(n.version)),
		row("/config/project-overrides", "project_overrides", route.Func(n.projectOverrides)),
		row("/robots.txt", "robots", route.Func(robots)),
	}
}

type status struct {
	Status string `json:"status"`
}

func liveness(*route.Call, struct{}) (status, error) { return status{"ok"}, nil }

// checks has the members that monitors of the reference look for.
type checks struct {
	Database   string `json:"DatabaseBackend"`
	Migrations string `json:"MigrationsHealthCheck"`
}

const healthPage = `<!doctype html><html lang="en"><head><title>System status</title></head><body><h1>System status</h1><p>%</p></body></html>`

// health reports whether the node may be sent traffic. Who asks for JSON gets the reference's checks; browsers get a page.
func (n *Node) health(c *route.Call, _ struct{}) (any, error) {
	word, code := "working", 200
	if !n.Ready() {
		word, code = "unavailable: this node has not caught up yet", 500
	}
	c.SetStatus(code)
	if strings.Contains(c.Request.Header("Accept"), "application/json") {
		return checks{word, word}, nil
	}
	return route.Blob{ContentType: "text/html; charset=utf-8", Data: []byte(strings.Replace(healthPage, "%", word, 1))}, nil
}

type versionInfo struct {
	CommitSHA       string            `json:"ci_commit_sha"`
	ImageTag        string            `json:"image_tag"`
	HasEmail        bool              `json:"has_email_provider"`
	IsEnterprise    bool              `json:"is_enterprise"`
	IsSaaS          bool              `json:"is_saas"`
	SelfHosted      selfHosted        `json:"self_hosted_data"`
	PackageVersions map[string]string `json:"package_versions"`
}

type selfHosted struct {
	HasUsers  bool `json:"has_users"`
	HasLogins bool `json:"has_logins"`
}

func (n *Node) version(*route.Call, struct{}) (versionInfo, error) {
	v := versionInfo{CommitSHA: n.build.Commit, ImageTag: CompatVersion, HasEmail: n.settings.SMTPAddr != "",
		PackageVersions: map[string]string{".": CompatVersion, "flagraft": n.build.Version}}
	if n.fsm.State().Born() {
		for u := range fsm.Users.Refs(n.fsm.State()) {
			v.SelfHosted.HasUsers = true
			v.SelfHosted.HasLogins = v.SelfHosted.HasLogins || !u.LastLogin.IsZero()
			if v.SelfHosted.HasLogins {
				break
			}
		}
	}
	return v, nil
}

// projectOverrides is the script from which the Flagsmith front end takes its settings.
func (n *Node) projectOverrides(c *route.Call, _ struct{}) (route.Blob, error) {
	script := append([]byte("window.projectOverrides = "), route.AppendJSON(nil, map[string]any{
		"api": c.URL("/api/v1/"), "preventSignup": n.settings.PreventSignup, "flagsmithRealtime": nil, "useSecureCookies": false,
	})...)
	return route.Blob{ContentType: "application/javascript", Data: append(script, ';', '\n')}, nil
}

func robots(*route.Call, struct{}) (route.Blob, error) {
	return route.Blob{ContentType: "text/plain; charset=utf-8", Data: []byte("User-agent: *\nDisallow: /\n")}, nil
}
