package eval

import (
	"crypto/md5"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercentage(t *testing.T) {
	for ids, want := range map[string]float64{
		"1,2":                   26.59531906381276,
		"78986,32103813":        49.27985597119424,
		"12345,test_env_foobar": 51.990398079615915,
		"10,id5365":             0,
		"7,k47":                 50,
		"10,id7364":             57.25145029005802, // 9998 is hashed again
	} {
		first, second, _ := strings.Cut(ids, ",")
		require.Equal(t, want, Percentage(first, second), ids)
		require.Equal(t, want, Percentage([]byte(first), second), ids)
	}
}

// referencePercentage is the definition, word for word.
func referencePercentage(ids ...string) float64 {
	for n := 1; ; n++ {
		var all []string
		for range n {
			all = append(all, ids...)
		}
		sum := md5.Sum([]byte(strings.Join(all, ",")))
		h := new(big.Int).SetBytes(sum[:])
		p := float64(h.Mod(h, big.NewInt(9999)).Int64()) / 9998 * 100
		if p != 100 {
			return p
		}
	}
}

func FuzzPercentage(f *testing.F) {
	f.Add("10", "id7364")
	f.Add("", strings.Repeat("x", 54))
	f.Fuzz(func(t *testing.T, first, second string) {
		require.Equal(t, referencePercentage(first, second), Percentage(first, second))
	})
}

// TestRecordedHashes compares with buckets and answers a running server gave.
func TestRecordedHashes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(sharedDir(t, "golden"), "hash_check.json"))
	require.NoError(t, err)
	var recorded struct {
		Rows []struct {
			HashKey         string  `json:"hash_key"`
			MVIDs           []any   `json:"mv_ids"`
			SplitIDs        []any   `json:"split_ids"`
			MVPercentage    float64 `json:"mv_percentage"`
			SplitPercentage float64 `json:"split_percentage"`
			MVValue         string  `json:"mv_value"`
			SplitValue      string  `json:"split_value"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	require.Len(t, recorded.Rows, 60)
	for _, row := range recorded.Rows {
		feature := &FeatureContext{Key: fmt.Sprint(row.MVIDs[0]), Value: String("blue"), Variants: []Variant{
			{Value: String("red"), Weight: Float(30), Priority: Int(1)},
			{Value: String("green"), Weight: Float(30), Priority: Int(2)},
		}}
		require.Equal(t, row.MVPercentage, Percentage(feature.Key, row.HashKey))
		require.Equal(t, row.MVValue, ValueOf(feature, SelectVariant(feature, row.HashKey)).Text())
		segment := &SegmentContext{Key: fmt.Sprint(row.SplitIDs[0]), Rules: []SegmentRule{{Type: All,
			Conditions: []Condition{{Operator: PercentageSplit, Value: "40"}}}}}
		require.Equal(t, row.SplitPercentage, Percentage(segment.Key, row.HashKey))
		matched := matchSegment(segment, EnvironmentContext{}, &IdentityContext{Key: row.HashKey})
		require.Equal(t, row.SplitValue == "in", matched)
	}
}
