package admin

import (
	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// organisationSettings are what the installation's superusers decide about an organisation, and how much of its limits is in use. A limit is
// null when there is none.
type organisationSettings struct {
	ID                 uint64    `json:"id"`
	UUID               uuid.UUID `json:"uuid"`
	Name               string    `json:"name"`
	StopServingFlags   bool      `json:"stop_serving_flags"`
	PersistTraitData   bool      `json:"persist_trait_data"`
	BlockAccessToAdmin bool      `json:"block_access_to_admin"`
	MaxSeats           *uint64   `json:"max_seats"`
	MaxProjects        *uint64   `json:"max_projects"`
	MaxAPICalls        *uint64   `json:"max_api_calls"`
	Seats              int       `json:"seats"`
	Projects           int       `json:"projects"`
	APICalls           uint64    `json:"api_calls"` // of this month, UTC
	APICallsExceeded   bool      `json:"api_calls_exceeded"`
}

type organisationSettingsInput struct {
	organisationRef
	StopServingFlags   route.Optional[bool]   `json:"stop_serving_flags"`
	PersistTraitData   route.Optional[bool]   `json:"persist_trait_data"`
	BlockAccessToAdmin route.Optional[bool]   `json:"block_access_to_admin"`
	MaxSeats           route.Optional[uint64] `json:"max_seats" v:"null,min=1,max=1000000000"`
	MaxProjects        route.Optional[uint64] `json:"max_projects" v:"null,min=1,max=1000000000"`
	MaxAPICalls        route.Optional[uint64] `json:"max_api_calls" v:"null,min=1,max=1000000000000"`
}

func organisationSettingRows() []route.Row {
	const list = "/api/flagraft/v1/organisations/"
	const detail = list + "{id}/"
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "flagraft_v1_organisations_list", Tag: "Organisations", Summary: "All organisations, their switches and limits.",
			Auth: route.Superuser, Handler: read(listOrganisationSettings)},
		{Method: "GET", Path: detail, OperationID: "flagraft_v1_organisations_retrieve", Tag: "Organisations",
			Summary: "The switches and limits of an organisation.", Auth: route.Superuser, Handler: read(getOrganisationSettings)},
		{Method: "PATCH", Path: detail, OperationID: "flagraft_v1_organisations_partial_update", Tag: "Organisations",
			Summary: "Change the switches and limits of an organisation.", Auth: route.Superuser, Kind: route.Write,
			Level:   3, // a leader of level 1 does not know the limits and drops them with its next write to the row
			Handler: write(setOrganisationSettings)},
	}
}

func listOrganisationSettings(c *Ctx, _ struct{}) ([]organisationSettings, error) {
	out := []organisationSettings{}
	for o := range fsm.Organisations.All(c) {
		out = append(out, c.renderOrganisationSettings(o))
	}
	return out, nil
}

func getOrganisationSettings(c *Ctx, in organisationRef) (organisationSettings, error) {
	o, err := find(c, fsm.Organisations, in.ID)
	return c.renderOrganisationSettings(o), err
}

func setOrganisationSettings(c *Ctx, in organisationSettingsInput) (organisationSettings, error) {
	o, err := find(c, fsm.Organisations, in.ID)
	if err != nil {
		return organisationSettings{}, err
	}
	before := o
	in.StopServingFlags.Into(&o.StopServingFlags)
	in.PersistTraitData.Into(&o.PersistTraitData)
	in.BlockAccessToAdmin.Into(&o.BlockAccessToAdmin)
	in.MaxSeats.Into(&o.MaxSeats)
	in.MaxProjects.Into(&o.MaxProjects)
	in.MaxAPICalls.Into(&o.MaxAPICalls)
	o.APICallsExceeded = o.OverAPICalls(c, c.Wall())
	c.touchOrganisation(before, o)
	return c.renderOrganisationSettings(fsm.Organisations.Put(c.Tx, o)), nil
}

func (c *Ctx) renderOrganisationSettings(o fsm.Organisation) organisationSettings {
	limit := func(n uint64) *uint64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return organisationSettings{ID: o.ID, UUID: o.UUID, Name: o.Name, StopServingFlags: o.StopServingFlags, PersistTraitData: o.PersistTraitData,
		BlockAccessToAdmin: o.BlockAccessToAdmin, MaxSeats: limit(o.MaxSeats), MaxProjects: limit(o.MaxProjects), MaxAPICalls: limit(o.MaxAPICalls),
		Seats: fsm.MembershipsByOrganisation.Count(c, o.ID), Projects: fsm.ProjectsByOrganisation.Count(c, o.ID),
		APICalls: fsm.APICalls(c, o.ID, c.Wall()), APICallsExceeded: o.APICallsExceeded}
}

// seatFree refuses one more member, in the words that clients know.
func seatFree(r fsm.Reader, o fsm.Organisation) error {
	if o.SeatsFull(r) {
		return route.BadRequest("Please upgrade your plan to add additional seats/users")
	}
	return nil
}

// projectFree refuses one more project.
func projectFree(r fsm.Reader, o fsm.Organisation) error {
	if o.ProjectsFull(r) {
		return route.Forbidden("The organisation has the maximum allowed number of projects.")
	}
	return nil
}
