package admin

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// Whom rules match before they are saved: two operations of our own. The engine that decides is the one that serves; nothing is stored.

// segmentDraft is rules as somebody writes them.
type segmentDraft struct {
	Rules []ruleInput `json:"rules" v:"required,nonempty"`
	// Segment is whose rules they are: percentage splits fall by its id. Without, they fall as those of no segment that exists.
	Segment route.Optional[uint64] `json:"segment" v:"null,pk"`
}

type segmentMatchInput struct {
	segmentDraft
	Identifier route.Optional[string]         `json:"identifier" v:"null,blank,max=2000"`
	UUID       route.Optional[uuid.UUID]      `json:"identity_uuid" v:"null"`
	Traits     route.Optional[[]explainTrait] `json:"traits" v:"null"` // laid over the stored ones; null removes
}

// segmentMatch is whether somebody is in, and why.
type segmentMatch struct {
	Identity explainedIdentity `json:"identity"`
	Matched  bool              `json:"matched"`
	Rules    []eval.RuleTrace  `json:"rules"`
}

// segmentTally is how many are in.
type segmentTally struct {
	Matched    int  `json:"matched"`
	LookedAt   int  `json:"looked_at"`
	Identities int  `json:"identities"` // of the environment
	Complete   bool `json:"complete"`   // false: time was up, more may match
}

// tallyTime bounds a count. tallyTurn is after how many identities others get their turn.
const (
	tallyTime = 500 * time.Millisecond
	tallyTurn = 512
)

func segmentMatchRows() []route.Row {
	const base = "/api/flagraft/v1/environments/{environment_api_key}/segments/"
	key := Path("environment_api_key")
	view := All(EnvironmentPermission("VIEW_ENVIRONMENT", key).Missing404(), EnvironmentPermission("VIEW_IDENTITIES", key))
	return []route.Row{
		{Method: "POST", Path: base + "match/", OperationID: "flagraft_v1_environments_segments_match_create", Tag: "Segments", Auth: route.Admin,
			Permission: view, Summary: "Tell whether rules match an identity or traits, condition by condition. Nothing is stored.", Handler: read(matchSegment)},
		{Method: "POST", Path: base + "count/", OperationID: "flagraft_v1_environments_segments_count_create", Tag: "Segments", Auth: route.Admin,
			Permission: view, Summary: "Count the stored identities that rules match, for half a second at most.", Handler: read(countSegment)},
	}
}

func matchSegment(c *Ctx, in segmentMatchInput) (segmentMatch, error) {
	engine, err := in.compile(c)
	if err != nil {
		return segmentMatch{}, err
	}
	e := explainer{engine: engine}
	if who := (explainInput{Identifier: in.Identifier, UUID: in.UUID}); in.Identifier.Value == "" && (!in.UUID.Set || in.UUID.Null) {
		e.stranger("")
	} else if err := e.identify(c, who); err != nil {
		return segmentMatch{}, err
	}
	e.lay(in.Traits.Value)
	trace := eval.Trace{}
	engine.MatchSegments(e.subject, &eval.Evaluation{Trace: &trace})
	return segmentMatch{Identity: e.out.Identity, Matched: trace.Segments[0].Matched, Rules: trace.Segments[0].Rules}, nil
}

func countSegment(c *Ctx, in segmentDraft) (segmentTally, error) {
	engine, err := in.compile(c)
	if err != nil {
		return segmentTally{}, err
	}
	ctx, cancel := context.WithTimeout(c.Context, tallyTime)
	defer cancel()
	return c.tally(ctx, engine), nil
}

// tally asks every identity of the environment, in the order of creation, until ctx ends.
func (c *Ctx) tally(ctx context.Context, engine *eval.Environment) segmentTally {
	store := c.identities()
	out := segmentTally{Identities: store.Count(), Complete: true}
	subject, evaluation := &eval.Subject{}, &eval.Evaluation{}
	for rec := range store.All {
		if out.LookedAt%tallyTurn == tallyTurn-1 {
			if ctx.Err() != nil {
				out.Complete = false
				break
			}
			runtime.Gosched()
		}
		c.setSubject(subject, engine, &rec)
		engine.MatchSegments(subject, evaluation)
		if evaluation.Matches(0) {
			out.Matched++
		}
		out.LookedAt++
	}
	out.Identities = max(out.Identities, out.LookedAt) // some may have come meanwhile
	return out
}

// compile makes an engine of the rules alone.
func (in segmentDraft) compile(c *Ctx) (*eval.Environment, error) {
	if err := checkRules(c, in.Rules); err != nil {
		return nil, err
	}
	if id := in.Segment.Value; id != 0 {
		if s := fsm.Segments.Ref(c, id); s == nil || s.Project != c.Environment.Project {
			return nil, route.InvalidPK("segment", id)
		}
	}
	segment := &eval.SegmentContext{Key: strconv.FormatUint(in.Segment.Value, 10), Rules: draftRules(in.Rules)}
	return eval.Compile(&eval.Spec{Key: c.Environment.APIKey, Name: c.Environment.Name, Segments: []*eval.SegmentContext{segment}}, nil), nil
}

// draftRules makes the engine's rules of what was sent, as they would be stored.
func draftRules(sent []ruleInput) []eval.SegmentRule {
	rules := make([]eval.SegmentRule, 0, len(sent))
	for _, in := range sent {
		if in.Delete {
			continue
		}
		r := eval.SegmentRule{Type: in.Type, Rules: draftRules(in.Rules.Value)}
		for _, condition := range in.Conditions.Value {
			if !condition.Delete {
				r.Conditions = append(r.Conditions, eval.Condition{
					Property: condition.Property.Value, Operator: condition.Operator, Value: condition.Value.stored(),
				})
			}
		}
		rules = append(rules, r)
	}
	return rules
}
