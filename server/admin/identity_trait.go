package admin

import (
	"strconv"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// coreTrait is a trait with its typed columns, of which the one named by ValueType holds the value. The store keeps one literal a trait, and
// no time: CreatedDate is the identity's.
type coreTrait struct {
	ID           uint64       `json:"id"`
	Key          string       `json:"trait_key"`
	ValueType    string       `json:"value_type"`
	IntegerValue route.Scalar `json:"integer_value" types:"integer,null"`
	StringValue  *string      `json:"string_value"`
	BooleanValue *bool        `json:"boolean_value"`
	FloatValue   *float64     `json:"float_value"`
	CreatedDate  fsm.Time     `json:"created_date"`
}

type traitListRef struct {
	Identity uint64 `path:"identity_pk"`
}

type traitRef struct {
	traitListRef
	Trait uint64 `path:"id"`
}

type traitInput struct {
	Key          route.Optional[string]  `json:"trait_key" v:"required,max=200"`
	ValueType    route.Optional[string]  `json:"value_type" v:"null,blank,choice=int|unicode|bool|float"`
	IntegerValue route.Optional[int64]   `json:"integer_value" v:"null,min=-2147483648,max=2147483647"`
	StringValue  route.Optional[string]  `json:"string_value" v:"null,blank,max=2000"`
	BooleanValue route.Optional[bool]    `json:"boolean_value" v:"null"`
	FloatValue   route.Optional[float64] `json:"float_value" v:"null"`
}

type traitCreate struct {
	traitListRef
	traitInput
}

type traitUpdate struct {
	traitRef
	traitInput
}

type traitDelete struct {
	traitRef
	All string `query:"deleteAllMatchingTraits" types:"boolean"`
}

func identityTraitRows() []route.Row {
	const list = "/api/v1/environments/{environment_api_key}/identities/{identity_pk}/traits/"
	const detail = list + "{id}/"
	view := EnvironmentPermission("VIEW_IDENTITIES", Path("environment_api_key"))
	manage := EnvironmentPermission("MANAGE_IDENTITIES", Path("environment_api_key"))
	return []route.Row{
		{Method: "GET", Path: list, OperationID: "api_v1_environments_identities_traits_list", Tag: "Identities", Auth: route.Admin, Permission: view,
			Handler: read(listTraits)},
		{Method: "POST", Path: list, OperationID: "api_v1_environments_identities_traits_create", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 201, Handler: write(createTrait).again(createdTrait)},
		{Method: "GET", Path: detail, OperationID: "api_v1_environments_identities_traits_retrieve", Tag: "Identities", Auth: route.Admin,
			Permission: view, Handler: read(getTrait)},
		{Method: "PUT", Path: detail, OperationID: "api_v1_environments_identities_traits_update", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Handler: write(updateTrait)},
		{Method: "PATCH", Path: detail, OperationID: "api_v1_environments_identities_traits_partial_update", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Handler: write(updateTrait)},
		{Method: "DELETE", Path: detail, OperationID: "api_v1_environments_identities_traits_destroy", Tag: "Identities", Auth: route.Admin,
			Permission: manage, Kind: route.Write, Status: 204, Handler: write(deleteTrait)},
	}
}

func listTraits(c *Ctx, in traitListRef) (route.Page[coreTrait], error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return route.Page[coreTrait]{}, err
	}
	traits := []coreTrait{}
	for it := rec.Traits(); it.Next(); {
		traits = append(traits, renderTrait(&rec, it.ID(), it.Key(), it.Value()))
	}
	return route.Paginate(c.Call, traits)
}

func createTrait(c *Ctx, in traitCreate) (*coreTrait, error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return nil, err
	}
	if err := c.mayPersistTraits(); err != nil {
		return nil, err
	}
	literal, err := in.literal(nil)
	if err != nil {
		return nil, err
	}
	if _, _, taken := rec.Trait(in.Key.Value); taken {
		return nil, traitTaken()
	}
	out := renderTrait(&rec, 0, in.Key.Value, literal)
	c.Identity(identity.Op{Kind: identity.KindSetTrait, Environment: c.Environment.ID, Identity: rec.ID(), Key: []byte(in.Key.Value), Value: literal,
		ExpectLastChange: rec.LastChange()}, func(r identity.Result) {
		out.ID = r.TraitID
		c.refuseLate(r, traitTaken())
	})
	return &out, nil
}

func createdTrait(c *Ctx, in traitCreate) (*coreTrait, error) {
	rec, err := findIdentity(c, in.Identity)
	if err != nil {
		return nil, err
	}
	literal, id, ok := rec.Trait(in.Key.Value)
	if !ok {
		return nil, route.NotFound("Trait")
	}
	out := renderTrait(&rec, id, in.Key.Value, literal)
	return &out, nil
}

func getTrait(c *Ctx, in traitRef) (coreTrait, error) {
	rec, key, literal, err := findTrait(c, in)
	if err != nil {
		return coreTrait{}, err
	}
	return renderTrait(&rec, in.Trait, key, literal), nil
}

func updateTrait(c *Ctx, in traitUpdate) (coreTrait, error) {
	rec, key, stored, err := findTrait(c, in.traitRef)
	if err != nil {
		return coreTrait{}, err
	}
	if err := c.mayPersistTraits(); err != nil {
		return coreTrait{}, err
	}
	literal, err := in.literal(stored)
	if err != nil {
		return coreTrait{}, err
	}
	op := identity.Op{Kind: identity.KindSetTrait, Environment: c.Environment.ID, Identity: rec.ID(), TraitID: in.Trait, Value: literal,
		ExpectLastChange: rec.LastChange()}
	if in.Key.Set && in.Key.Value != key {
		if _, _, taken := rec.Trait(in.Key.Value); taken {
			return coreTrait{}, traitTaken()
		}
		key = in.Key.Value
		op.Key = []byte(key)
	}
	c.Identity(op, func(r identity.Result) { c.refuseLate(r, traitTaken()) })
	return renderTrait(&rec, in.Trait, key, literal), nil
}

// deleteTrait removes one trait, or with deleteAllMatchingTraits its key from every identity of the environment.
func deleteTrait(c *Ctx, in traitDelete) (route.Empty, error) {
	rec, key, _, err := findTrait(c, in.traitRef)
	if err != nil {
		return c.fail(err)
	}
	op := identity.Op{Kind: identity.KindDeleteTrait, Environment: c.Environment.ID, Identity: rec.ID(), TraitID: in.Trait}
	if in.All == "true" || in.All == "True" {
		op = identity.Op{Kind: identity.KindDeleteTraitKey, Environment: c.Environment.ID, Key: []byte(key)}
	}
	c.Identity(op, nil)
	return c.OK()
}

func findTrait(c *Ctx, in traitRef) (rec identity.Record, key string, literal []byte, err error) {
	if rec, err = findIdentity(c, in.Identity); err != nil {
		return rec, "", nil, err
	}
	key, literal, ok := rec.TraitByID(in.Trait)
	if !ok {
		return rec, "", nil, route.NotFound("Trait")
	}
	return rec, key, literal, nil
}

// mayPersistTraits refuses traits where the organisation stores none.
func (c *Ctx) mayPersistTraits() error {
	if o, ok := fsm.Organisations.Get(c, c.Project.Organisation); ok && !o.PersistTraitData {
		return route.Forbidden("Organisation is not authorised to store traits.")
	}
	return nil
}

// traitTaken is what the reference's serializer would say; it answers 500.
func traitTaken() error {
	return route.NonField("The fields trait_key, identity must make a unique set.")
}

// literal is the value that the input leaves a trait with: the column of the type, which is the stored one's unless it is sent. A trait
// without a value does not exist here.
func (in traitInput) literal(stored []byte) ([]byte, error) {
	was, text := "unicode", ""
	if stored != nil {
		was = traitType(stored)
	}
	kind := in.ValueType.Or(was)
	if kind == "" {
		kind = "unicode"
	}
	var column string
	var sent, null bool
	switch kind {
	case "int":
		column, sent, null = "integer_value", in.IntegerValue.Set, in.IntegerValue.Null
		text = strconv.FormatInt(in.IntegerValue.Value, 10)
	case "float":
		column, sent, null = "float_value", in.FloatValue.Set, in.FloatValue.Null
		text = string(identity.AppendFloat(nil, in.FloatValue.Value))
	case "bool":
		column, sent, null = "boolean_value", in.BooleanValue.Set, in.BooleanValue.Null
		text = strconv.FormatBool(in.BooleanValue.Value)
	default:
		column, sent, null = "string_value", in.StringValue.Set, in.StringValue.Null
		text = string(identity.AppendString(nil, in.StringValue.Value))
	}
	switch {
	case null:
		return nil, route.Field(column, route.MsgNull)
	case sent:
		return []byte(text), nil
	case stored != nil && kind == was:
		return stored, nil
	}
	return nil, route.Field(column, route.MsgRequired)
}

// traitType names the column of a canonical literal.
func traitType(literal []byte) string {
	switch identity.KindOfValue(literal) {
	case identity.KindOfInt:
		return "int"
	case identity.KindOfFloat:
		return "float"
	case identity.KindOfBool:
		return "bool"
	}
	return "unicode"
}

func renderTrait(rec *identity.Record, id uint64, key string, literal []byte) coreTrait {
	t := coreTrait{ID: id, Key: key, ValueType: traitType(literal), CreatedDate: fsm.Time(rec.Created())}
	switch t.ValueType {
	case "int":
		t.IntegerValue = route.ScalarOf(route.Value{Kind: route.Int, Text: string(literal)})
	case "float":
		f, _ := strconv.ParseFloat(string(literal), 64)
		t.FloatValue = &f
	case "bool":
		b := string(literal) == "true"
		t.BooleanValue = &b
	default:
		s := string(identity.AppendUnquoted(nil, literal))
		t.StringValue = &s
	}
	return t
}
