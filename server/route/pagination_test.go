package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaginate(t *testing.T) {
	all := []int{1, 2, 3, 4, 5}
	for _, c := range []struct {
		query, want string
		sized       bool
	}{
		{"", `{"count":5,"next":null,"previous":null,"results":[1,2,3,4,5]}`, true},
		{"page_size=2&z=1&environment=24", `{"count":5,"next":"http://flags.example/x/?environment=24&page=2&page_size=2&z=1","previous":null,"results":[1,2]}`, true},
		{"page=2&page_size=2", `{"count":5,"next":"http://flags.example/x/?page=3&page_size=2","previous":"http://flags.example/x/?page_size=2","results":[3,4]}`, true},
		{"page=last&page_size=2", `{"count":5,"next":null,"previous":"http://flags.example/x/?page=2&page_size=2","results":[5]}`, true},
		{"page_size=2", `{"count":5,"next":null,"previous":null,"results":[1,2,3,4,5]}`, false},
		{"page_size=0", `{"count":5,"next":null,"previous":null,"results":[1,2,3,4,5]}`, true},
		{"page_size=x", `{"count":5,"next":null,"previous":null,"results":[1,2,3,4,5]}`, true},
		{"page_size=5000&page=1", `{"count":5,"next":null,"previous":null,"results":[1,2,3,4,5]}`, true},
	} {
		p, err := paginate(newTestCall("GET", "/x/?"+c.query, "", ""), all, c.sized)
		require.NoError(t, err, c.query)
		require.Equal(t, c.want, string(AppendJSON(nil, p)), c.query)
	}
	for _, q := range []string{"page=0", "page=2", "page=x", "page=-1"} {
		_, err := PaginateSized(newTestCall("GET", "/x/?"+q, "", ""), all)
		require.Equal(t, `{"detail":"Invalid page."}`, bodyOf(err))
	}
	p, err := Paginate(newTestCall("GET", "/x/", "", ""), []int(nil))
	require.NoError(t, err)
	require.Equal(t, `{"count":0,"next":null,"previous":null,"results":[]}`, string(AppendJSON(nil, p)))
}
