package admin

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

// usage books usage as of some days ago.
func (h *harness) usage(environment uint64, kind fsm.UsageKind, feature uint64, labels string, daysAgo int, n int64) {
	h.node.Write(h, func(tx *fsm.Tx) error {
		bucket := fsm.TimeOf(tx.Now().Std().Truncate(time.Hour).AddDate(0, 0, -daysAgo))
		fsm.Usages.Put(tx, fsm.Usage{Environment: environment, Kind: kind, Feature: feature, Bucket: bucket, Labels: labels, Count: n})
		return nil
	})
}

func day(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }

const noLabels = `"labels":{"client_application_name":null,"client_application_version":null,"user_agent":null}`

func labelsOf(application, version, agent string) string {
	return fsm.UsageLabels(fsm.RequestClient{Application: []byte(application), Version: []byte(version), Agent: []byte(agent)})
}

// TestUsageOfAClockPutRight: nodes count by the clock, and the state may be ahead of it.
func TestUsageOfAClockPutRight(t *testing.T) {
	h := newHarness(t)
	h.usage(1, fsm.UsageFlags, 0, "", 365, 7)
	h.usage(1, fsm.UsageFlags, 0, "", 0, 1) // as of when the clock was a year ahead
	h.api.Env.Clock = func() time.Time { return time.Now().AddDate(0, 0, -365) }
	h.get("/api/v1/organisations/1/usage-data/total-count/", 200).is(`{"count":8}`)
}

func TestUsageData(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.UsagePerMinute = 0
	const list = "/api/v1/organisations/1/usage-data/"
	h.get(list, 200).is(`[]`)
	h.get(list+"total-count/", 200).is(`{"count":0}`)

	labels := labelsOf("shop, the", "1.0", "flagsmith-go-sdk/4")
	h.usage(1, fsm.UsageFlags, 0, "", 0, 3)
	h.usage(1, fsm.UsageIdentities, 0, "", 0, 4)
	h.usage(1, fsm.UsageTraits, 0, labels, 0, 5)
	h.usage(1, fsm.UsageEnvironmentDocument, 0, "", 29, 6)
	h.usage(1, fsm.UsageFlags, 0, "", 30, 100)
	h.usage(1, fsm.UsageEvaluation, 1, "", 0, 1000)
	h.usage(99, fsm.UsageFlags, 0, "", 0, 1000)
	row := func(flags, identities, traits, documents, ago int, labels string) string {
		return fmt.Sprintf(`{"flags":%d,"identities":%d,"traits":%d,"environment_document":%d,"day":%q,%s}`, flags, identities, traits, documents, day(ago), labels)
	}
	labelled := row(0, 0, 5, 0, 0, `"labels":{"client_application_name":"shop, the","client_application_version":"1.0","user_agent":"flagsmith-go-sdk/4"}`)
	month := row(0, 0, 0, 6, 29, noLabels) + "," + row(3, 4, 0, 0, 0, noLabels) + "," + labelled
	h.get(list, 200).is("[" + month + "]")
	h.get(list+"?period=90_day_period", 200).is("[" + row(100, 0, 0, 0, 30, noLabels) + "," + month + "]")
	h.get(list+"?user_agent=flagsmith-go-sdk/4&client_application_version=1.0", 200).is("[" + labelled + "]")
	h.get(list+"?client_application_name=shop", 200).is(`[]`)
	h.get(list+"?environment_id=1&project_id=1", 200).is("[" + month + "]")
	h.get(list+"?environment_id=2", 200).is(`[]`)
	h.get(list+"?project_id=2", 200).is(`[]`)
	h.get(list+"total-count/", 200).is(`{"count":18}`)
	h.get("/api/v1/organisations/1/usage/", 200).is(`{"events":18}`)
	h.do("member", "GET", "/api/v1/organisations/1/api-usage-notification/", nil).must(200).is(`{"count":0,"next":null,"previous":null,"results":[]}`)
	h.do("stranger", "GET", "/api/v1/organisations/1/api-usage-notification/", nil).must(403)
	h.get(list+"?period=foo", 400).is(`{"period":["\"foo\" is not a valid choice."]}`)
	h.get(list+"?period=current_billing_period", 404).is(`{"detail":"No billing periods found for this organisation."}`)
	h.do("member", "GET", list, nil).must(403)
	h.do("member", "GET", list+"total-count/", nil).must(403)

	h.api.Env.Options.UsagePerMinute = 2
	h.get(list, 200)
	h.get(list+"total-count/", 200)
	refused := h.get(list, 429)
	require.Equal(t, "60", refused.Answer.Header("Retry-After"))
}

func TestEvaluationData(t *testing.T) {
	h := newHarness(t)
	h.api.Env.Options.UsagePerMinute = 0
	f := h.post("/api/v1/projects/1/features/", `{"name":"f"}`, 201).id()
	target := fmt.Sprintf("/api/v1/projects/1/features/%d/evaluation-data/", f)
	h.get(target, 400).is(`{"environment_id":["This field is required."]}`)
	h.get(target+"?environment_id=1", 200).is(`[]`)
	h.usage(1, fsm.UsageEvaluation, f, "", 2, 7)
	h.usage(1, fsm.UsageEvaluation, f, "", 0, 3)
	h.usage(1, fsm.UsageEvaluation, f+1, "", 0, 100)
	h.usage(2, fsm.UsageEvaluation, f, "", 0, 100)
	h.node.Usage.Add(1, fsm.UsageEvaluation, f, "", 2)
	require.NoError(t, h.node.Usage.Flush(t.Context()))
	row := func(ago, n int) string { return fmt.Sprintf(`{"day":%q,"count":%d,%s}`, day(ago), n, noLabels) }
	h.get(target+"?environment_id=1", 200).is("[" + row(2, 7) + "," + row(0, 5) + "]")
	h.get(target+"?environment_id=1&period=2", 200).is("[" + row(0, 5) + "]")
	h.get(target+"?environment_id=1&period=91", 400)
	h.do("member", "GET", target+"?environment_id=1", nil).must(404)
	h.remove(fmt.Sprintf("/api/v1/projects/1/features/%d/", f), 204)
	for u := range fsm.Usages.All(h.node.FSM.State()) {
		require.False(t, u.Feature == f && u.Environment == 1, "counters go with their feature")
	}
}

func TestUsageLabels(t *testing.T) {
	require.Empty(t, labelsOf("", "", "curl/8"))
	require.Empty(t, labelsOf(string(make([]byte, 101)), "\xff", ""))
	l := readLabels(labelsOf("a&b=c", "", "flagsmith-python-sdk/4.0"))
	require.Equal(t, "a&b=c", *l.ApplicationName)
	require.Nil(t, l.ApplicationVersion)
	require.Equal(t, "flagsmith-python-sdk/4.0", *l.UserAgent)
}
