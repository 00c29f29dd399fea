package faults_test

import (
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/faults"
	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
)

var mutants = flag.Bool("mutants", false, "play rounds against broken builds too, each of which a check must reject")

// TestChecksReject plays rounds against builds that break one promise each, until the check that guards the promise fails.
func TestChecksReject(t *testing.T) {
	nodes.Binary(t)
	if !*mutants {
		t.Skip("takes minutes: run with -mutants")
	}
	for _, c := range []struct {
		name  string
		check string // that must fail
		kinds []string
		edits []mutant.Edit
	}{
		{"traits that were not stored count as stored", "acknowledged write lost", []string{"kill all", "partition"}, []mutant.Edit{
			{File: "server/sdk/head.go", Old: `ctx.Response.Header.SetCanonical(persistedHeader, valueFalse)`, New: `_, _ = persistedHeader, valueFalse`},
			{File: "server/sdk/render.go", Old: `ctx.Response.Header.SetCanonical(persistedHeader, valueFalse)`, New: `_, _ = persistedHeader, valueFalse`},
		}},
		{"batches sent again count again", "increments", []string{"kill leader", "stop leader", "isolate leader"}, []mutant.Edit{
			{File: "fsm/apply.go", Old: "if !fresh {\n\t\t\tresult.Results", New: "if !fresh && result == nil {\n\t\t\tresult.Results"},
		}},
		{"idempotency keys are forgotten", "exactly once", []string{"kill leader", "stop leader", "isolate leader"}, []mutant.Edit{
			{File: "server/admin/idempotency.go", Old: "\tif !ok {\n\t\treturn nil, nil\n\t}\n\tif k.Fingerprint", New: "\tif !ok || k.Key != \"\" {\n\t\treturn nil, nil\n\t}\n\tif k.Fingerprint"},
		}},
		{"indexes are not waited for", "session", []string{"delay and reordering", "one-way partition", "thin line"}, []mutant.Edit{
			{File: "server/sdk/enter.go", Old: "return number(digits)\n", New: "return number(digits) / 1_000_000\n"},
		}},
		{"applying looks at the process", "state hash", []string{"transfer", "restart", "kill any"}, []mutant.Edit{
			{File: "fsm/apply.go", Old: "\t\"encoding/binary\"\n", New: "\t\"encoding/binary\"\n\t\"os\"\n"},
			{File: "fsm/apply.go", Old: "results = append(results, f.ids.Perform(&op, index, int64(at)))", New: "results = append(results, f.ids.Perform(&op, index, int64(at)+int64(os.Getpid())))"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := faults.Config{Binary: mutant.Build(t, c.edits...), Dir: t.TempDir(), Nodes: 3, Seed: 1, Rounds: 1, PerCluster: 1, Log: t.Logf}
			for _, k := range faults.Kinds() {
				if slices.Contains(c.kinds, k.Name) {
					cfg.Kinds = append(cfg.Kinds, k)
				}
			}
			for ; cfg.Seed <= 20; cfg.Seed++ {
				done, err := faults.Run(context.Background(), cfg)
				require.NoError(t, err)
				for _, f := range done[0].Failures {
					if f.Check == c.check {
						t.Logf("rejected in round %d: %s", cfg.Seed, f.Detail)
						return
					}
				}
			}
			t.Fatalf("%s did not fail in 20 rounds", c.check)
		})
	}
}
