package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

const formType = "multipart/form-data; boundary=edge"

// form is a body in which text stands behind the end of the form.
func form(fields [][2]string, behind string) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "--edge\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", f[0], f[1])
	}
	return b.String() + "--edge--\r\n" + behind
}

// What stands in a body behind the end of its form is no request of its own.
func TestNothingIsSmuggledBehindAForm(t *testing.T) {
	n := servertest.Start(t)
	conn := dial(t, n)
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	body := form([][2]string{{"email", "a@example.com"}}, strings.Repeat("\r\n", 10<<10)+"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n")
	_, err := fmt.Fprintf(conn, "POST /api/v1/auth/login/ HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"+
		"GET /health/liveness/ HTTP/1.1\r\nHost: x\r\n\r\n", formType, len(body), body)
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	for _, want := range []string{"credentials", `"ok"`} {
		answer, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
}

// A repetition is known by its bytes, so they stay as they were sent.
func TestAFormIsRepeated(t *testing.T) {
	n := servertest.Start(t)
	tags := project(t, n)
	var fields [][2]string
	for _, name := range []string{"label", "color", "description", "extra", "more"} {
		fields = append(fields, [2]string{name, "text"})
	}
	c := n.Admin(t).With("Idempotency-Key", "form").With("Content-Type", formType)
	first := c.Do("POST", tags, form(fields, ""))
	require.Equal(t, 201, first.Status, first.Raw)
	for range 10 {
		again := c.Do("POST", tags, form(fields, ""))
		require.Equal(t, 201, again.Status, again.Raw)
		require.Equal(t, first.Raw, again.Raw)
	}
}
