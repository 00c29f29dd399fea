package route

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

type widget struct {
	Name  string            `json:"name" v:"required,max=5"`
	Count int64             `json:"count" v:"min=0,max=2147483647"`
	On    bool              `json:"on"`
	Ratio float64           `json:"ratio"`
	Kind  string            `json:"kind" v:"choice=A|B,default=A"`
	Note  Optional[string]  `json:"note" v:"null,blank"`
	Mail  Optional[string]  `json:"mail" v:"email"`
	Owner *int64            `json:"owner" v:"pk"`
	Value Scalar            `json:"value"`
	Tags  []int64           `json:"tags" v:"pk"`
	Nums  []int64           `json:"nums"`
	Parts []part            `json:"parts"`
	Must  Optional[[]part]  `json:"must" v:"nonempty"`
	Inner Optional[*part]   `json:"inner"`
	Raw   Value             `json:"raw"`
	Blob  Optional[[]Value] `json:"blob"`
}

type part struct {
	Operator string   `json:"operator" v:"required,choice=EQUAL|IN"`
	Sub      []nested `json:"sub"`
}

type nested struct {
	N int `json:"n" v:"required"`
}

func (p *part) Validate(e *Errors) {
	if len(p.Sub) > 2 {
		e.NonField("too many")
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{}`, `{"name":["This field is required."]}`},
		{``, `{"name":["This field is required."]}`},
		{`{"name":null}`, `{"name":["This field may not be null."]}`},
		{`{"name":"  "}`, `{"name":["This field may not be blank."]}`},
		{`{"name":true}`, `{"name":["Not a valid string."]}`},
		{`{"name":["a"]}`, `{"name":["Not a valid string."]}`},
		{`{"name":"toolong"}`, `{"name":["Ensure this field has no more than 5 characters."]}`},
		{`{"name":"a\u0000"}`, `{"name":["Null characters are not allowed."]}`},
		{`{"name":"a\ud800"}`, `{"name":["Surrogate characters are not allowed: U+D800."]}`},
		{`{"name":"a","count":"x"}`, `{"count":["A valid integer is required."]}`},
		{`{"name":"a","count":1.5}`, `{"count":["A valid integer is required."]}`},
		{`{"name":"a","count":true}`, `{"count":["A valid integer is required."]}`},
		{`{"name":"a","count":2147483648}`, `{"count":["Ensure this value is less than or equal to 2147483647."]}`},
		{`{"name":"a","count":-1}`, `{"count":["Ensure this value is greater than or equal to 0."]}`},
		{`{"name":"a","count":99999999999999999999999}`, `{"count":["Ensure this value is less than or equal to 2147483647."]}`},
		{`{"name":"a","on":"maybe"}`, `{"on":["Must be a valid boolean."]}`},
		{`{"name":"a","ratio":"x"}`, `{"ratio":["A valid number is required."]}`},
		{`{"name":"a","kind":"C"}`, `{"kind":["\"C\" is not a valid choice."]}`},
		{`{"name":"a","kind":5}`, `{"kind":["\"5\" is not a valid choice."]}`},
		{`{"name":"a","mail":"x"}`, `{"mail":["Enter a valid email address."]}`},
		{`{"name":"a","mail":"\u0130@example.com"}`, `{"mail":["Enter a valid email address."]}`},
		{`{"name":"a","owner":"x"}`, `{"owner":["Incorrect type. Expected pk value, received str."]}`},
		{`{"name":"a","tags":"x"}`, `{"tags":["Expected a list of items but got type \"str\"."]}`},
		{`{"name":"a","tags":["x"]}`, `{"tags":["Incorrect type. Expected pk value, received str."]}`},
		{`{"name":"a","nums":[1,"x"]}`, `{"nums":{"1":["A valid integer is required."]}}`},
		{`{"name":"a","parts":[{"operator":"EQUAL"},{"operator":"FOO"},{"operator":"IN"}]}`,
			`{"parts":[{},{"operator":["\"FOO\" is not a valid choice."]},{}]}`},
		{`{"name":"a","parts":[{"operator":"EQUAL","sub":[{"n":1},{}]}]}`, `{"parts":[{"sub":[{},{"n":["This field is required."]}]}]}`},
		{`{"name":"a","parts":[{"operator":"IN","sub":[{"n":1},{"n":1},{"n":1}]}]}`, `{"parts":[{"non_field_errors":["too many"]}]}`},
		{`{"name":"a","parts":[5]}`, `{"parts":[{"non_field_errors":["Invalid data. Expected a dictionary, but got int."]}]}`},
		{`{"name":"a","parts":{}}`, `{"parts":{"non_field_errors":["Expected a list of items but got type \"dict\"."]}}`},
		{`{"name":"a","must":[]}`, `{"must":{"non_field_errors":["This list may not be empty."]}}`},
		{`{"name":"a","inner":[]}`, `{"inner":{"non_field_errors":["Invalid data. Expected a dictionary, but got list."]}}`},
		{`{"name":"","count":"x","on":7}`, `{"name":["This field may not be blank."],"count":["A valid integer is required."],"on":["Must be a valid boolean."]}`},
		{`[]`, `{"non_field_errors":["Invalid data. Expected a dictionary, but got list."]}`},
		{`"x"`, `{"non_field_errors":["Invalid data. Expected a dictionary, but got str."]}`},
		{`null`, `{"non_field_errors":["No data provided"]}`},
		{`{`, `{"detail":"JSON parse error - Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"}`},
	} {
		_, err := decodeAs[widget](t, "POST", "application/json", c.body)
		require.Error(t, err, c.body)
		require.Equal(t, 400, AsError(err).Status)
		require.Equal(t, c.want, bodyOf(err), c.body)
	}
}

func TestDecodeValues(t *testing.T) {
	w, err := decodeAs[widget](t, "POST", "application/json", `{"name":" 12.50 ","count":"7.0","on":"True","ratio":"1e2","note":null,"owner":"5",
		"value":1.0,"tags":["1",2],"parts":[{"operator":"IN"}],"inner":{"operator":"EQUAL"},"raw":{"a":[1e400]},"other":1,"mail":"a@b.org"}`)
	require.NoError(t, err)
	require.Equal(t, "12.50", w.Name)
	require.EqualValues(t, 7, w.Count)
	require.True(t, w.On)
	require.EqualValues(t, 100, w.Ratio)
	require.Equal(t, "A", w.Kind)
	require.Equal(t, Optional[string]{Set: true, Null: true}, w.Note)
	require.EqualValues(t, 5, *w.Owner)
	require.Equal(t, "1.0", w.Value.Literal())
	require.Equal(t, []int64{1, 2}, w.Tags)
	require.Equal(t, "EQUAL", w.Inner.Value.Operator)
	require.Equal(t, Object, w.Raw.Kind)
	require.False(t, w.Must.Set)

	w, err = decodeAs[widget](t, "POST", "application/json", `{"name":1e16,"name":7}`)
	require.NoError(t, err)
	require.Equal(t, "7", w.Name, "of duplicate members the last wins")
}

func TestInstantsHaveYearsOfFourDigits(t *testing.T) {
	type dated struct {
		At Optional[time.Time] `json:"at"`
	}
	for _, text := range []string{"9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+14:00", "0000-06-01"} {
		_, err := decodeAs[dated](t, "POST", "application/json", `{"at":"`+text+`"}`)
		require.Equal(t, `{"at":["Datetime value out of range."]}`, bodyOf(err), text)
	}
	for text, want := range map[string]string{"9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z", "0001-01-01T02:00:00+02:00": "0001-01-01T00:00:00Z"} {
		d, err := decodeAs[dated](t, "POST", "application/json", `{"at":"`+text+`"}`)
		require.NoError(t, err)
		require.Equal(t, want, d.At.Value.Format(time.RFC3339Nano))
	}
}

func TestPatchRequiresNothing(t *testing.T) {
	w, err := decodeAs[widget](t, "PATCH", "application/json", `{"note":"x"}`)
	require.NoError(t, err)
	require.Empty(t, w.Kind, "no defaults either")
	require.Equal(t, Some("x"), w.Note)
	_, err = decodeAs[widget](t, "PATCH", "application/json", `{"name":""}`)
	require.Equal(t, `{"name":["This field may not be blank."]}`, bodyOf(err))
}

func TestPatchRequiresWholeElements(t *testing.T) {
	type change struct {
		Parts Optional[[]part] `json:"parts"`
		Some  Optional[part]   `json:"some"`
		Whole Optional[nested] `json:"whole" v:"null,whole"`
	}
	_, err := decodeAs[change](t, "PATCH", "application/json", `{"parts":[{"operator":"IN"},{"sub":[{}]}],"some":{},"whole":{}}`)
	require.JSONEq(t, `{"parts":[{},{"operator":["This field is required."],"sub":[{"n":["This field is required."]}]}],
		"whole":{"n":["This field is required."]}}`, bodyOf(err))
	_, err = decodeAs[change](t, "PATCH", "application/json", `{"whole":null}`)
	require.NoError(t, err)
}

func TestDecodeForms(t *testing.T) {
	w, err := decodeAs[widget](t, "POST", "application/x-www-form-urlencoded; charset=utf-8", "name=a+b&count=3&on=on&tags=1&tags=2&owner=")
	require.NoError(t, err)
	require.Equal(t, "a b", w.Name)
	require.True(t, w.On)
	require.Equal(t, []int64{1, 2}, w.Tags)
	require.Nil(t, w.Owner)

	type upload struct {
		File     File   `json:"file" v:"required"`
		Strategy string `json:"strategy" v:"required,choice=SKIP"`
	}
	body := strings.ReplaceAll("--X\nContent-Disposition: form-data; name=\"strategy\"\n\nSKIP\n"+
		"--X\nContent-Disposition: form-data; name=\"file\"; filename=\"f.json\"\n\n[]\n--X--\n", "\n", "\r\n")
	u, err := decodeAs[upload](t, "POST", "multipart/form-data; boundary=X", body)
	require.NoError(t, err)
	require.Equal(t, File{Name: "f.json", Data: []byte("[]")}, u.File)
	_, err = decodeAs[upload](t, "POST", "application/json", `{"file":"x","strategy":"SKIP"}`)
	require.Equal(t, `{"file":["`+MsgNoFile+`"]}`, bodyOf(err))
	_, err = decodeAs[upload](t, "POST", "application/json", `{}`)
	require.Equal(t, `{"file":["`+MsgNoUpload+`"],"strategy":["`+MsgRequired+`"]}`, bodyOf(err))

	_, err = decodeAs[widget](t, "POST", "text/plain", "x")
	require.Equal(t, 415, AsError(err).Status)
	require.Equal(t, `{"detail":"Unsupported media type \"text/plain\" in request."}`, bodyOf(err))
}

func TestDecodeWholeBody(t *testing.T) {
	type bulk struct {
		Items []nested `body:""`
	}
	b, err := decodeAs[bulk](t, "POST", "application/json", `[{"n":1},{"n":2}]`)
	require.NoError(t, err)
	require.Len(t, b.Items, 2)
	_, err = decodeAs[bulk](t, "POST", "application/json", `[{"n":1},{}]`)
	require.Equal(t, `[{},{"n":["This field is required."]}]`, bodyOf(err))
	_, err = decodeAs[bulk](t, "POST", "application/json", `{}`)
	require.Equal(t, `{"non_field_errors":["Expected a list of items but got type \"dict\"."]}`, bodyOf(err))
}

func TestDecodePathAndQuery(t *testing.T) {
	type in struct {
		ID     uint64   `path:"id"`
		Search string   `query:"search"`
		Tags   []uint64 `query:"tags" v:"csv"`
		On     *bool    `query:"on"`
		Env    []uint64 `query:"env"`
		Kind   string   `query:"kind" v:"choice=A|B,default=A"`
		Must   int      `query:"must" v:"required"`
	}
	table, err := NewTable([]Row{{Method: "GET", Path: "/x/{id}/", OperationID: "x", Handler: Func(func(*Call, in) (Empty, error) { return Empty{}, nil })}})
	require.NoError(t, err)
	run := func(path, query string) (any, error) {
		var m Match
		require.True(t, table.Lookup([]byte("GET"), []byte(path), &m))
		return m.Row.Schema().Decode(NewCall(t.Context(), &m, &Request{Method: "GET", Path: path, Query: query}))
	}
	got, err := run("/x/7", "search=&tags=1,2&on=true&env=3&env=4&must=1")
	require.NoError(t, err)
	yes := true
	require.Equal(t, &in{ID: 7, Tags: []uint64{1, 2}, On: &yes, Env: []uint64{3, 4}, Kind: "A", Must: 1}, got)
	got, err = run("/x/7", "kind=&on=null&must=1")
	require.NoError(t, err)
	require.Equal(t, &in{ID: 7, Kind: "A", Must: 1}, got)
	_, err = run("/x/abc", "must=1")
	require.Equal(t, `{"detail":"Not found."}`, bodyOf(err))
	_, err = run("/x/-1", "must=1")
	require.Equal(t, 404, AsError(err).Status)
	_, err = run("/x/1", "tags=1,x")
	require.Equal(t, `{"tags":{"1":["A valid integer is required."]},"must":["This field is required."]}`, bodyOf(err))
}

func FuzzDecode(f *testing.F) {
	s, err := CompileSchema(typeOf[widget]())
	require.NoError(f, err)
	for _, b := range []string{`{"name":"x"}`, `{"parts":[{"sub":[{}]}]}`, `[]`, `{"value":{"a":[null]}}`, `name=1&tags=2`} {
		f.Add("application/json", b)
		f.Add("application/x-www-form-urlencoded", b)
		f.Add("multipart/form-data; boundary=x", b)
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		in, err := s.Decode(newTestCall("POST", "/?a=b", contentType, body))
		if err != nil {
			status := AsError(err).Status
			require.True(t, status == 400 || status == 415, "%v", err)
			return
		}
		AppendJSON(nil, in)
	})
}

// TestParseTime has the forms that Python's fromisoformat or Django's own pattern reads, which are what the reference takes.
func TestParseTime(t *testing.T) {
	want := time.Date(2026, 11, 5, 18, 0, 0, 0, time.UTC)
	for _, s := range []string{
		"2026-11-05T18:00:00Z", "2026-11-05 18:00", "2026-11-05T20:00:00+02:00", "2026-11-05T20:00:00+0200", "2026-11-05T20:00:00+02",
		"2026-11-05 18:00:00+00", "2026-11-05 20:00:00 +0200", "2026-11-05T18:00:00 Z", "2026-11-05T20:00+0200", "2026-11-05T16:00-02",
		"2026-11-5 18:0:0", "2026-11-5T18:00:00.0000009Z", "20261105T180000Z", "20261105T1800Z", "20261105T200000+0200", "2026-11-05T18Z",
	} {
		got, ok := ParseTime(s)
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"2026-11-05", "20261105"} {
		got, ok := ParseTime(s)
		require.True(t, ok, s)
		require.Equal(t, want.Truncate(24*time.Hour), got, s)
	}
	for _, s := range []string{
		"", " ", "Z", " Z", "+", "2026", "2026-11", "2026-13-05", "2026-02-30T00:00", "2026-11-05T25:00", "2026-11-05T18:00:61Z", "2026-11-05Z",
		"2026-11-05+02:00", "2026-11-05T", "2026-11-05 +02:00", "2026-11-05t18:00:00z", "2026-11-05T18:00:00+2", "2026-11 -05", "05.11.2026 18:00", "1762365600",
	} {
		_, ok := ParseTime(s)
		require.False(t, ok, s)
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2026-11-05T18:00:00Z", "2026-1-5 8:0", "2026-11-05 20:00:00.5 +02", "20261105T180000-0200", "2026-11-05"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseTime(s)
		if !ok {
			return
		}
		again, ok := ParseTime(got.Format("2006-01-02T15:04:05.999999Z07:00"))
		require.True(t, ok || got.Year() < 0 || got.Year() > 9999, "%q: %v", s, got)
		require.True(t, !ok || got.Equal(again), "%q: %v, %v", s, got, again)
	})
}
