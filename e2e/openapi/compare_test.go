package openapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// described makes a description of one operation, whose parts the arguments replace.
func described(t *testing.T, parts ...string) *Document {
	const text = `
openapi: 3.1.0
paths:
  /things/{id}/:
    put:
      operationId: things_update
      parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
      - {name: page, in: query, schema: {type: integer}}
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
      responses: {'200': {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}}
components:
  schemas:
    Thing:
      type: object
      required: [name]
      properties:
        id: {type: integer, readOnly: true}
        secret: {type: string, writeOnly: true}
        name: {type: string}
        size: {anyOf: [{type: number}, {type: 'null'}]}
        parts: {type: array, items: {$ref: '#/components/schemas/Thing'}}
`
	d, err := Parse([]byte(strings.NewReplacer(parts...).Replace(text)))
	require.NoError(t, err)
	return d
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		served []string
		want   string
	}{
		"the same":            {nil, ""},
		"more":                {[]string{"name: {type: string}", "name: {type: string}\n        more: {type: string}"}, ""},
		"narrower answer":     {[]string{"{type: number}", "{type: integer}"}, "request size"},
		"another operation":   {[]string{"things_update", "things_put"}, "operation"},
		"another path":        {[]string{"/things/", "/thing/"}, "path"},
		"no page":             {[]string{"name: page", "name: side"}, "query page"},
		"another parameter":   {[]string{"{type: integer}}\n      - {name: page", "{type: string}}\n      - {name: page"}, "path id"},
		"demanded parameter":  {[]string{"in: query,", "in: query, required: true,"}, "query page"},
		"another status":      {[]string{"'200'", "'201'"}, "response"},
		"no body":             {[]string{"requestBody:", "x-nothing:"}, "request"},
		"missing member":      {[]string{"name: {type: string}", "title: {type: string}", "[name]", "[]"}, "request name|response 200 name"},
		"another type":        {[]string{"name: {type: string}", "name: {type: boolean}"}, "request name|response 200 name"},
		"demanded member":     {[]string{"[name]", "[name, more]"}, "request more"},
		"missing read-only":   {[]string{"id: {type: integer, readOnly: true}", "number: {type: integer}"}, "response 200 id"},
		"missing write-only":  {[]string{"secret: {", "other: {"}, "request secret"},
		"items of other type": {[]string{"items: {$ref: '#/components/schemas/Thing'}", "items: {type: string}"}, "request parts []|response 200 parts []"},
	} {
		t.Run(name, func(t *testing.T) {
			all, n := Compare(described(t), described(t, c.served...))
			require.Equal(t, 1, n)
			var where []string
			for _, d := range all {
				if !strings.Contains(d.Where, "parts [] ") { // what is compared again, further down
					where = append(where, d.Where)
				}
			}
			require.Equal(t, c.want, strings.Join(where, "|"), "%v", all)
		})
	}
}

func TestJudge(t *testing.T) {
	served := described(t, "name: page", "name: side")
	r, err := Judge(described(t), served, "")
	require.NoError(t, err)
	require.Equal(t, "0 of 1 operations are compatible", r.String())
	require.Error(t, r.Err())

	r, err = Judge(described(t), served, "# why\nthings_update\tquery page\tthe list is bare\n")
	require.NoError(t, err)
	require.Equal(t, "1 of 1 operations are compatible", r.String())
	require.NoError(t, r.Err())

	r, err = Judge(described(t), described(t), "*\tquery page\tthe list is bare\n")
	require.NoError(t, err)
	require.ErrorContains(t, r.Err(), "nothing needs: * query page")

	_, err = Judge(described(t), served, "things_update\tquery page\n")
	require.Error(t, err, "an exception without a reason")
}
