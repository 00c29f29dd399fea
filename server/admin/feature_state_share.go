package admin

import (
	"cmp"
	"slices"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// share is the part of an option in a feature state, as the API shows it.
type share struct {
	ID         uint64  `json:"id"`
	Option     uint64  `json:"multivariate_feature_option"`
	Percentage float64 `json:"percentage_allocation"`
}

func renderShares(s fsm.FeatureState) []share {
	return mapped(s.Multivariate, func(v fsm.MultivariateValue) share {
		return share{ID: v.ID, Option: v.Option, Percentage: v.Percentage}
	})
}

// shareInput is a share as it is sent. ID may name the one to change.
type shareInput struct {
	ID         route.Optional[uint64] `json:"id" v:"null"`
	Option     uint64                 `json:"multivariate_feature_option" v:"required,pk"`
	Percentage float64                `json:"percentage_allocation" v:"required,min=0,max=100"`
}

// MsgShares is the refusal of shares that exceed the whole.
const MsgShares = "Multivariate percentage values exceed 100%."

// replaceShares makes the shares of a state those that were sent, when any were: who is known by id or by option keeps its id, because the
// order of ids decides who gets which variant.
func replaceShares(c *Ctx, s *fsm.FeatureState, in route.Optional[[]shareInput]) error {
	if !in.Set || in.Null {
		return nil
	}
	if err := checkShares(c, s.Feature, in.Value); err != nil {
		return err
	}
	left := slices.Clone(s.Multivariate)
	shares := make([]fsm.MultivariateValue, 0, len(in.Value))
	for _, sent := range in.Value {
		v := takeShare(c.Tx, &left, sent)
		v.Option, v.Percentage = sent.Option, sent.Percentage
		shares = append(shares, v)
	}
	slices.SortFunc(shares, func(a, b fsm.MultivariateValue) int { return cmp.Compare(a.ID, b.ID) })
	s.Multivariate = shares
	return nil
}

// MsgOptionTwice is the refusal of two shares of one option: the reference's table has them unique.
const MsgOptionTwice = "The option is given twice."

// optionFault says why an option of a feature cannot have a share behind those before it; "" if it can.
func optionFault(c *Ctx, feature, option uint64, before []shareInput) string {
	if o := fsm.MultivariateOptions.Ref(c, option); o == nil || o.Feature != feature {
		return route.InvalidPKText(option)
	}
	if slices.ContainsFunc(before, func(s shareInput) bool { return s.Option == option }) {
		return MsgOptionTwice
	}
	return ""
}

// checkShares refuses options of other features, an option that is given twice, and more than the whole.
func checkShares(c *Ctx, feature uint64, sent []shareInput) error {
	errs, total := &route.Errors{}, 0.0
	for i, in := range sent {
		total += in.Percentage
		if msg := optionFault(c, feature, in.Option, sent[:i]); msg != "" {
			errs.At("multivariate_feature_state_values").Item(i).Add("multivariate_feature_option", msg)
		}
	}
	if errs.Empty() && fsm.MoreThanWhole(total) {
		errs.NonField(MsgShares)
	}
	return errs.Err()
}

// takeShare removes from left the share that was meant, or makes a new one.
func takeShare(tx *fsm.Tx, left *[]fsm.MultivariateValue, in shareInput) fsm.MultivariateValue {
	i := slices.IndexFunc(*left, func(v fsm.MultivariateValue) bool { return in.ID.Value != 0 && v.ID == in.ID.Value })
	if i < 0 {
		i = slices.IndexFunc(*left, func(v fsm.MultivariateValue) bool { return v.Option == in.Option })
	}
	if i < 0 {
		return fsm.MultivariateValue{ID: tx.NextMultivariateValueID(), UUID: tx.NewUUID()}
	}
	v := (*left)[i]
	*left = slices.Delete(*left, i, i+1)
	return v
}
