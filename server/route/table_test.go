package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func noop(*Call, struct{}) (Empty, error) { return Empty{}, nil }

func row(method, path, id string) Row {
	return Row{Method: method, Path: path, OperationID: id, Handler: Func(noop)}
}

func testTable(t testing.TB) *Table {
	t.Helper()
	table, err := NewTable([]Row{
		row("GET", "/api/v1/flags/", "flags"),
		row("GET", "/api/v1/flags/{identifier}", "flags_old"),
		row("GET", "/api/v1/projects/", "projects"),
		row("POST", "/api/v1/projects/", "project_create"),
		row("GET", "/api/v1/projects/{pk}/", "project"),
		row("DELETE", "/api/v1/projects/{pk}/", "project_delete"),
		row("GET", "/api/v1/projects/permissions/", "permissions"),
		row("GET", "/api/v1/projects/{project_pk}/tags/{id}/", "tag"),
		row("GET", "/api/v1/projects/get-by-uuid/{uuid}/", "by_uuid"),
		row("GET", "/health", "health"),
	})
	require.NoError(t, err)
	return table
}

func TestLookup(t *testing.T) {
	table := testTable(t)
	for _, c := range []struct {
		method, path, want string
		params             []string
	}{
		{"GET", "/api/v1/flags/", "flags", nil},
		{"GET", "/api/v1/flags", "flags", nil},
		{"HEAD", "/api/v1/flags", "flags", nil},
		{"GET", "/api/v1/flags/a%2Fb%20c", "flags_old", []string{"a/b c"}},
		{"GET", "/api/v1/flags/a/", "flags_old", []string{"a"}},
		{"GET", "/api/v1/projects/7", "project", []string{"7"}},
		{"GET", "/api/v1/projects/permissions", "permissions", nil},
		{"GET", "/api/v1/projects/permissions/tags/3/", "tag", []string{"permissions", "3"}},
		{"GET", "/api/v1/projects/get-by-uuid/tags/3", "tag", []string{"get-by-uuid", "3"}},
		{"GET", "/api/v1/projects/get-by-uuid/3", "by_uuid", []string{"3"}},
		{"GET", "/health/", "health", nil},
		{"GET", "/api/v1/projects/%zz", "project", []string{"%zz"}},
	} {
		var m Match
		require.True(t, table.Lookup([]byte(c.method), []byte(c.path), &m), "%s %s", c.method, c.path)
		require.Equal(t, c.want, m.Row.OperationID, c.path)
		var got []string
		for i := range m.Len() {
			got = append(got, m.Decoded(i))
		}
		require.Equal(t, c.params, got, c.path)
	}
}

func TestLookupMisses(t *testing.T) {
	table := testTable(t)
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/", ""},
		{"GET", "", ""},
		{"GET", "/api/v1", ""},
		{"GET", "/api/v1/projects//", ""},
		{"GET", "/api/v1//projects/", ""},
		{"GET", "/api/v1/projects/7/tags", ""},
		{"GET", "/api/v1/projects/7/tags/1/2", ""},
		{"PUT", "/api/v1/projects", "GET, POST, HEAD, OPTIONS"},
		{"POST", "/api/v1/projects/7/", "GET, DELETE, HEAD, OPTIONS"},
		{"TRACE", "/api/v1/flags/", "GET, HEAD, OPTIONS"},
		{"DELETE", "/api/v1/projects/permissions/", "GET, HEAD, OPTIONS"},
	} {
		var m Match
		require.False(t, table.Lookup([]byte(c.method), []byte(c.path), &m), "%s %s", c.method, c.path)
		require.Equal(t, c.allow, m.Allow, "%s %s", c.method, c.path)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	table := testTable(t)
	get, a, b := []byte("GET"), []byte("/api/v1/flags/"), []byte("/api/v1/projects/1/tags/2")
	var m Match
	require.Zero(t, testing.AllocsPerRun(100, func() {
		table.Lookup(get, a, &m)
		table.Lookup(get, b, &m)
	}))
}

func TestTableReportsFaults(t *testing.T) {
	type wrong struct {
		ID int64 `path:"nope"`
	}
	type unknown struct {
		Name string `json:"name" v:"requird"`
	}
	_, err := NewTable([]Row{
		row("GET", "/a/", "a"), row("GET", "/a", "b"), row("GET", "/c/", "a"), row("BREW", "/d/", "d"),
		{Method: "GET", Path: "/e/", OperationID: "e"},
		{Method: "GET", Path: "/f/{id}/", OperationID: "f", Handler: Func(func(*Call, wrong) (Empty, error) { return Empty{}, nil })},
		{Method: "GET", Path: "/g/", OperationID: "g", Handler: Func(func(*Call, unknown) (Empty, error) { return Empty{}, nil })},
	})
	for _, want := range []string{"same path as a", `"a" is taken`, "unknown method", "no handler", `"nope"`, "requird"} {
		require.ErrorContains(t, err, want)
	}
}

func FuzzLookup(f *testing.F) {
	table := testTable(f)
	for _, s := range []string{"/api/v1/flags/", "/api/v1/projects/1/tags/2/", "//", "/api/v1/projects/%2f", "/api/v1/projects/get-by-uuid/a/b"} {
		f.Add("GET", s)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		var m Match
		ok := table.Lookup([]byte(method), []byte(path), &m)
		require.Equal(t, ok, m.Row != nil)
		if ok {
			require.Len(t, m.Row.paramNames, m.Len())
			require.NotEmpty(t, m.Allow)
		}
		for i := range m.Len() {
			m.Decoded(i)
		}
	})
}
