package fsm

import (
	"bytes"
	"net/url"
	"time"
	"unicode/utf8"
)

// UsageKind is what a usage counter counts.
type UsageKind uint8

// The kinds of counter. The request kinds are Flagsmith's API usage resources.
const (
	UsageFlags               UsageKind = 1
	UsageIdentities          UsageKind = 2
	UsageTraits              UsageKind = 3
	UsageEnvironmentDocument UsageKind = 4
	UsageEvaluation          UsageKind = 5 // flag evaluations reported by SDKs
)

// usageDay is how long a counter counts.
const usageDay = 24 * time.Hour

// Usage is one counter: how often, within the bucket that starts at Bucket.
type Usage struct {
	ID          uint64    `cbor:"1,keyasint"`
	Environment uint64    `cbor:"2,keyasint"`
	Kind        UsageKind `cbor:"3,keyasint"`
	Feature     uint64    `cbor:"4,keyasint,omitempty"` // UsageEvaluation only
	Bucket      Time      `cbor:"5,keyasint"`           // start of a UTC day; of an hour in rows of earlier versions
	Labels      string    `cbor:"6,keyasint,omitempty"` // from UsageLabels
	Count       int64     `cbor:"7,keyasint"`
}

// The labels of counters: what clients say of themselves.
const (
	LabelApplicationName    = "client_application_name"
	LabelApplicationVersion = "client_application_version"
	LabelUserAgent          = "user_agent"
)

// maxLabel is the longest value of a label.
const maxLabel = 100

// RequestClient is what the headers of a request say of its sender. The slices are only read.
type RequestClient struct{ Application, Version, Agent []byte }

// counted leaves what is worth a label: no agent that is no Flagsmith SDK, and no
// text that is too long or not UTF-8.
func (c RequestClient) counted() RequestClient {
	if !isSDKAgent(c.Agent) {
		c.Agent = nil
	}
	for _, value := range []*[]byte{&c.Application, &c.Version, &c.Agent} {
		if len(*value) > maxLabel || !utf8.Valid(*value) || bytes.IndexByte(*value, 0) >= 0 {
			*value = nil
		}
	}
	return c
}

// isSDKAgent knows "flagsmith-LANGUAGE-sdk/VERSION".
func isSDKAgent(agent []byte) bool {
	name, _, _ := bytes.Cut(agent, []byte("/"))
	return bytes.HasPrefix(name, []byte("flagsmith-")) && bytes.HasSuffix(name, []byte("-sdk"))
}

// UsageLabels makes the labels of a counter, as a query string sorted by name.
func UsageLabels(c RequestClient) string {
	labels := url.Values{}
	add := func(name string, value []byte) {
		if len(value) > 0 {
			labels.Set(name, string(value))
		}
	}
	c = c.counted()
	add(LabelApplicationName, c.Application)
	add(LabelApplicationVersion, c.Version)
	add(LabelUserAgent, c.Agent)
	return labels.Encode()
}

// Usages is the table of usage counters.
var (
	Usages      = newTable[Usage](21, "Usage", func(u *Usage) *uint64 { return &u.ID }, nil)
	UsagesByKey = Usages.index("key", func(u *Usage, k Key) (Key, bool) {
		return k.Uint(u.Environment).Byte(byte(u.Kind)).Uint(u.Feature).Uint(uint64(u.Bucket)).String(u.Labels), true
	})
	UsagesByBucket = Usages.index("bucket", func(u *Usage, k Key) (Key, bool) { return k.Uint(uint64(u.Bucket)), true })
)

// APICalls counts the SDK requests of an organisation in the month of now, UTC,
// as far as the counters know them.
func APICalls(r Reader, organisation uint64, now Time) (n uint64) {
	t := now.Std()
	month := TimeOf(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC))
	for p := range ProjectsByOrganisation.Refs(r, organisation) {
		for e := range EnvironmentsByProject.Refs(r, p.ID) {
			for kind := UsageFlags; kind < UsageEvaluation; kind++ {
				for u := range UsagesByKey.Refs(r, e.ID, byte(kind)) {
					if u.Bucket >= month {
						n += uint64(max(u.Count, 0))
					}
				}
			}
		}
	}
	return n
}
