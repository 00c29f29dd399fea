package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestProjectOverrides gets the script that tells the front end where the API is and whether it offers to sign up.
func TestProjectOverrides(t *testing.T) {
	n := servertest.Start(t, func(st *settings.Settings) { st.PreventSignup = true })
	script := n.Client(t).Do("GET", "/config/project-overrides", nil).Raw
	require.Contains(t, script, `window.projectOverrides = {"api":"http://`+n.APIAddr()+`/api/v1/",`)
	require.Contains(t, script, `"preventSignup":true`)
}
