package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
)

const gossipKeysPath = clusterPath + "gossip-keys/"

func TestGossipKeys(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	admin := nodes[2].Admin(t) // not the leader
	ids := func(answer map[string]any) (out []string) {
		for _, k := range answer["keys"].([]any) {
			out = append(out, k.(map[string]any)["id"].(string))
		}
		for _, m := range answer["members"].([]any) {
			require.Equal(t, true, m.(map[string]any)["current"], m)
		}
		return out
	}
	first := ids(admin.Object("GET", gossipKeysPath, nil, 200))
	require.Len(t, first, 1)
	both := ids(admin.Object("POST", gossipKeysPath, nil, 201))
	require.Len(t, both, 2)
	require.Equal(t, []string{both[1], both[0]}, ids(admin.Object("POST", gossipKeysPath+both[1]+"/use/", nil, 200)))
	require.Equal(t, http.StatusConflict, admin.Do("DELETE", gossipKeysPath+both[1]+"/", nil).Status, "it encrypts")
	require.Equal(t, both[1:], ids(admin.Object("DELETE", gossipKeysPath+both[0]+"/", nil, 200)))
	require.Equal(t, http.StatusNotFound, admin.Do("POST", gossipKeysPath+both[0]+"/use/", nil).Status)
	require.Equal(t, http.StatusUnauthorized, nodes[0].Client(t).Do("GET", gossipKeysPath, nil).Status)
	other := nodes[0].Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{
		"email": "other@example.com", "first_name": "O", "last_name": "T", "password": servertest.AdminPassword}, 201)
	plain := nodes[0].Client(t).With("Authorization", "Token "+other["key"].(string))
	require.Equal(t, http.StatusForbidden, plain.Do("POST", gossipKeysPath, nil).Status)

	alone := servertest.Start(t) // neither secret nor certificates
	a := alone.Admin(t).Do("POST", gossipKeysPath, nil)
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Raw, "neither a secret nor certificates")
}
