package admin

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// codeScan is what a scan of a repository found, as it is sent and answered.
type codeScan struct {
	CreatedAt  fsm.Time      `json:"created_at"`
	Project    uint64        `json:"project"`
	Repository string        `json:"repository_url"`
	Provider   string        `json:"vcs_provider"`
	Revision   string        `json:"revision"`
	References []scannedCode `json:"code_references"`
}

type scannedCode struct {
	Feature string `json:"feature_name" v:"required,max=100"`
	Path    string `json:"file_path" v:"required,max=4096"`
	Line    int64  `json:"line_number" v:"required,min=1,max=2147483647"`
}

type codeScanInput struct {
	Repository string        `json:"repository_url" v:"required,url,max=2000"`
	Provider   string        `json:"vcs_provider" v:"choice=github,default=github"`
	Revision   string        `json:"revision" v:"required,max=100"`
	References []scannedCode `json:"code_references" v:"required"`
}

// codeRepository is what the newest scan of a repository found of one feature.
type codeRepository struct {
	Repository string       `json:"repository_url"`
	Provider   string       `json:"vcs_provider"`
	Revision   string       `json:"revision"`
	ScannedAt  fsm.Time     `json:"last_successful_repository_scanned_at"`
	FoundAt    *fsm.Time    `json:"last_feature_found_at"`
	References []codeDetail `json:"code_references"`
}

type codeDetail struct {
	Path       string   `json:"file_path"`
	Line       int64    `json:"line_number"`
	ScannedAt  fsm.Time `json:"scanned_at"`
	Provider   string   `json:"vcs_provider"`
	Repository string   `json:"repository_url"`
	Revision   string   `json:"revision"`
	Permalink  string   `json:"permalink"`
}

// codeReferencesCount is how often a repository mentions a feature, in the list of features.
type codeReferencesCount struct {
	Repository string    `json:"repository_url"`
	Count      int       `json:"count"`
	ScannedAt  fsm.Time  `json:"last_successful_repository_scanned_at"`
	FoundAt    *fsm.Time `json:"last_feature_found_at"`
}

// codeMemory is how long it is told when a repository was found to mention a feature, and maxCodeRepositories how many a project may have.
const (
	codeMemory          = 30 * 24 * time.Hour
	maxCodeRepositories = 100
)

func codeReferenceRows() []route.Row {
	view := ProjectPermission("VIEW_PROJECT", Path("project_pk"))
	return []route.Row{
		{Method: "POST", Path: "/api/v1/projects/{project_pk}/code-references/", OperationID: "api_v1_projects_code_references_create", Tag: "Projects",
			Summary: "Store what a scan of a repository found; it replaces the repository's last scan.", Auth: route.Admin, Permission: view,
			Kind: route.Write, Status: 201, Handler: write(storeCodeScan)},
		{Method: "GET", Path: "/api/v1/projects/{project_pk}/features/{feature_pk}/code-references/", OperationID: "get_feature_code_references",
			Tag: "Features", Summary: "Show where repositories mention a feature.", Auth: route.Admin, Permission: view.Feature(Path("feature_pk")),
			Handler: read(featureCodeReferences)},
	}
}

func storeCodeScan(c *Ctx, in codeScanInput) (codeScan, error) {
	r, known := fsm.CodeRepositoriesByProject.First(c, c.Project.ID, in.Repository)
	if !known && fsm.CodeRepositoriesByProject.Count(c, c.Project.ID) >= maxCodeRepositories {
		return codeScan{}, route.Field("repository_url", fmt.Sprintf("A project has at most %d repositories.", maxCodeRepositories))
	}
	found := map[string]bool{}
	references := make([]fsm.CodeReference, len(in.References))
	for i, ref := range in.References {
		references[i] = fsm.CodeReference{Feature: ref.Feature, Path: ref.Path, Line: ref.Line}
		found[ref.Feature] = true
	}
	r = fsm.CodeRepositories.Put(c.Tx, fsm.CodeRepository{ID: r.ID, Project: c.Project.ID, URL: in.Repository, Provider: in.Provider,
		Revision: in.Revision, ScannedAt: c.Now(), References: references, Earlier: earlierSightings(r, found, c.Now())})
	return codeScan{CreatedAt: r.ScannedAt, Project: r.Project, Repository: r.URL, Provider: r.Provider, Revision: r.Revision,
		References: in.References}, nil
}

// earlierSightings lists, by name, the features that a repository mentioned and the new scan does not find.
func earlierSightings(r fsm.CodeRepository, found map[string]bool, now fsm.Time) []fsm.CodeSighting {
	last := map[string]fsm.Time{}
	for _, s := range r.Earlier {
		last[s.Feature] = s.At
	}
	for _, ref := range r.References {
		last[ref.Feature] = r.ScannedAt
	}
	var out []fsm.CodeSighting
	for name, at := range last {
		if !found[name] && remembered(at, now) {
			out = append(out, fsm.CodeSighting{Feature: name, At: at})
		}
	}
	slices.SortFunc(out, func(a, b fsm.CodeSighting) int { return cmp.Compare(a.Feature, b.Feature) })
	return out
}

func remembered(at, now fsm.Time) bool { return at.Add(codeMemory) >= now }

func featureCodeReferences(c *Ctx, _ struct{}) ([]codeRepository, error) {
	out := []codeRepository{}
	for r := range fsm.CodeRepositoriesByProject.Refs(c, c.Project.ID) {
		shown := codeRepository{Repository: r.URL, Provider: r.Provider, Revision: r.Revision, ScannedAt: r.ScannedAt,
			FoundAt: foundAt(r, c.Feature.Name, c.Now())}
		for _, ref := range r.References {
			if ref.Feature == c.Feature.Name {
				shown.References = append(shown.References, codeDetail{Path: ref.Path, Line: ref.Line, ScannedAt: r.ScannedAt, Provider: r.Provider,
					Repository: r.URL, Revision: r.Revision, Permalink: permalink(r, ref)})
			}
		}
		out = append(out, shown)
	}
	return out, nil
}

// foundAt is when a repository was last found to mention a feature, or nil.
func foundAt(r *fsm.CodeRepository, feature string, now fsm.Time) *fsm.Time {
	at := fsm.Time(0)
	if i, ok := slices.BinarySearchFunc(r.Earlier, feature, func(s fsm.CodeSighting, name string) int { return cmp.Compare(s.Feature, name) }); ok {
		at = r.Earlier[i].At
	}
	if slices.ContainsFunc(r.References, func(ref fsm.CodeReference) bool { return ref.Feature == feature }) {
		at = r.ScannedAt
	}
	if at == 0 || !remembered(at, now) {
		return nil
	}
	return &at
}

// permalink is the address of the line at the scanned revision.
func permalink(r *fsm.CodeRepository, ref fsm.CodeReference) string {
	path := (&url.URL{Path: r.Revision + "/" + strings.TrimPrefix(ref.Path, "/")}).EscapedPath()
	return fmt.Sprintf("%s/blob/%s#L%d", strings.TrimSuffix(r.URL, "/"), path, ref.Line)
}

// codeMentions are the mentions of a project's features in the newest scans, per repository. They are counted once for a list of features.
type codeMentions struct {
	now          fsm.Time
	repositories []*fsm.CodeRepository
	counts       []map[string]int
}

func (c *Ctx) codeMentions() *codeMentions {
	m := &codeMentions{now: c.Now()}
	for r := range fsm.CodeRepositoriesByProject.Refs(c, c.Project.ID) {
		counts := map[string]int{}
		for _, ref := range r.References {
			counts[ref.Feature]++
		}
		m.repositories, m.counts = append(m.repositories, r), append(m.counts, counts)
	}
	return m
}

// of gives the counts of one feature, of repositories that were scanned lately.
func (m *codeMentions) of(feature string) []codeReferencesCount {
	out := []codeReferencesCount{}
	for i, r := range m.repositories {
		if remembered(r.ScannedAt, m.now) {
			out = append(out, codeReferencesCount{Repository: r.URL, Count: m.counts[i][feature], ScannedAt: r.ScannedAt,
				FoundAt: foundAt(r, feature, m.now)})
		}
	}
	return out
}

// any reports whether the newest scan of some repository found the feature.
func (m *codeMentions) any(feature string) bool {
	return slices.ContainsFunc(m.counts, func(counts map[string]int) bool { return counts[feature] > 0 })
}
