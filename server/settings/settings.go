// Package settings is how a node is configured: one struct whose tags give each setting its flag, its environment variable, its key in the
// configuration file, its default and its help text. A flag beats an environment variable (FLAGRAFT_DATA_DIR for --data-dir), which beats
// the file, which beats the default.
package settings

import (
	"time"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/admin"
	"github.com/flagraft/flagraft/server/portable"
)

// Settings are everything a node can be told. The flag's name is also the key in the file.
type Settings struct {
	Config string `flag:"config" usage:"YAML file with settings, keys as the flags without dashes in front"`

	DataDir string `flag:"data-dir" default:"data" usage:"directory of the log, the snapshots and the node's identity"`

	MinFreeDiskMB int `flag:"min-free-disk-mb" usage:"free disk space below which no writes are taken; 0: a twentieth of the volume, from 512 MB to 2 GB, at most a tenth"`

	APIAddr          string   `flag:"api-addr" default:":8000" usage:"listen address of the API"`
	ClusterAddr      string   `flag:"cluster-addr" default:"127.0.0.1:8001" usage:"listen address of Raft and internal calls"`
	GossipAddr       string   `flag:"gossip-addr" default:"127.0.0.1:8002" usage:"listen address of discovery (TCP and UDP); empty: none"`
	ManagementAddr   string   `flag:"management-addr" default:"127.0.0.1:8003" usage:"listen address of health, metrics and profiles; empty: none"`
	TLSCert          string   `flag:"tls-cert" usage:"PEM file of the API's certificate, with intermediate ones; with the next: the API speaks HTTPS only"`
	TLSKey           string   `flag:"tls-key" usage:"PEM file of its key"`
	TLSMinVersion    string   `flag:"tls-min-version" default:"1.2" choice:"1.2|1.3" usage:"oldest version of TLS on the API"`
	AdvertiseAPI     string   `flag:"advertise-api" usage:"address of the API as other nodes and people reach it"`
	AdvertiseCluster string   `flag:"advertise-cluster" usage:"address of the cluster port as other nodes reach it"`
	AdvertiseGossip  string   `flag:"advertise-gossip" usage:"address of the gossip port as other nodes reach it"`
	BootstrapExpect  int      `flag:"bootstrap-expect" default:"1" usage:"number of fresh nodes that form a new cluster; 0: form none, wait to be told where to join; means nothing once there is one"`
	Join             []string `flag:"join" usage:"cluster addresses of other nodes; a name may stand for several"`
	NonVoter         bool     `flag:"non-voter" usage:"be a read replica: join without a vote and never get one"`
	ClusterSecret    string   `flag:"cluster-secret" secret:"true" usage:"shared secret of all nodes; it or certificates are required beyond loopback"`
	ClusterName      string   `flag:"cluster-name" default:"flagraft" usage:"name of the cluster, in the certificates of its nodes"`
	ClusterCA        string   `flag:"cluster-ca" usage:"PEM file of the authorities whose nodes belong to the cluster; with the next two: TLS on the cluster port"`
	ClusterCert      string   `flag:"cluster-cert" usage:"PEM file of this node's certificate (flagraft ca issue makes one)"`
	ClusterKey       string   `flag:"cluster-key" usage:"PEM file of its key"`

	RestoreFrom string `flag:"restore-from" usage:"backup file that a new installation starts from; means nothing once it holds something"`

	SnapshotLogBytes int `flag:"snapshot-log-bytes" default:"67108864" zero:"no" usage:"size of the log since the last snapshot at which the next one is taken, where an entry weighs 1 KB beside its bytes; never less than the snapshot itself"`
	TrailingLogBytes int `flag:"trailing-log-bytes" default:"67108864" zero:"no" usage:"size of the log kept behind a snapshot, for nodes that lag"`

	AdminEmail       string `flag:"admin-email" usage:"make this superuser on an installation without users"`
	AdminPassword    string `flag:"admin-password" secret:"true" usage:"its password"`
	OrganisationName string `flag:"organisation-name" usage:"make this organisation for it"`
	Demo             bool   `flag:"demo" usage:"fill an empty installation with an example project"`

	SDKFormat          string   `flag:"sdk-format" default:"core" choice:"core|edge" usage:"shape of SDK answers: core (verbose) or edge (slim)"`
	DocumentPages      string   `flag:"document-pages" default:"auto" choice:"auto|always|never" usage:"who gets environment documents whose identity overrides pass 1 MB in pages: auto (all but clients known not to follow a Link), always or never"`
	MaxStreams         int      `flag:"max-streams" default:"20000" usage:"realtime streams open at once; more get 503; 0: no limit"`
	TrustedProxies     []string `flag:"trusted-proxies" usage:"addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed"`
	E2EToken           string   `flag:"e2e-token" secret:"true" usage:"requests with it in X-E2E-Test-Auth-Token are not throttled"`
	Console            bool     `flag:"console" default:"true" usage:"serve the web console at / of the API address"`
	FrontendURL        string   `flag:"frontend-url" usage:"address of the front end, for links in mails and redirects; default: public-url"`
	PublicURL          string   `flag:"public-url" usage:"address of the API as people reach it, for links to it; default: the advertised or listen address"`
	SMTPAddr           string   `flag:"smtp-addr" usage:"host:port of the server that sends mails; without it each mail becomes a file in mail/ of the leader's data directory"`
	SMTPUser           string   `flag:"smtp-user" usage:"account on it; empty: none"`
	SMTPPassword       string   `flag:"smtp-password" secret:"true" usage:"its password"`
	SMTPProtection     string   `flag:"smtp-tls" default:"starttls" choice:"starttls|tls|none" usage:"encryption of the connection: starttls (required), tls from the start, or none"`
	MailFrom           string   `flag:"mail-from" default:"flagraft <flagraft@localhost>" usage:"sender of mails"`
	MaxBodyBytes       int      `flag:"max-body-bytes" default:"1048576" zero:"no" usage:"largest request body"`
	MaxHeaderBytes     int      `flag:"max-header-bytes" default:"16384" zero:"no" usage:"largest request line and headers"`
	MaxConnections     int      `flag:"max-connections" default:"50000" zero:"no" usage:"connections served at once"`
	MaxRequests        int      `flag:"max-requests" default:"10000" zero:"no" usage:"requests worked on at once; more get 503"`
	MaxWrites          int      `flag:"max-writes" default:"2000" zero:"no" usage:"writes that run or wait at once; more get 503"`
	MaxBodyBytesTotal  int      `flag:"max-body-bytes-total" default:"67108864" zero:"no" usage:"bytes of request bodies above 16 KB read or worked on at once; more get 503"`
	MemoryLimit        string   `flag:"memory-limit" default:"auto" usage:"soft limit of the process's memory: auto (GOMEMLIMIT, or 90 % of the cgroup's), off, or bytes such as 512MiB; near it requests get 503"`
	HashConcurrency    int      `flag:"hash-concurrency" default:"2" zero:"no" usage:"password hashes computed at once"`
	AllowPrivateHooks  bool     `flag:"allow-private-webhooks" usage:"let webhooks point at loopback and private addresses"`
	DisableWebhooks    bool     `flag:"disable-webhooks" usage:"queue nothing for webhooks and call none"`
	RegistrationInvite bool     `flag:"registration-needs-invite" usage:"refuse sign-ups without an invite"`
	PreventSignup      bool     `flag:"prevent-signup" usage:"refuse every sign-up"`
	RestrictOrgCreate  bool     `flag:"restrict-org-create-to-superusers" usage:"only superusers make organisations"`
	DisableInviteLinks bool     `flag:"disable-invite-links" usage:"no invite links"`
	LoginPerMinute     int      `flag:"login-per-minute" default:"20" usage:"sign-ins, and mails asked for, per client address and minute; 0: no limit"`
	UsagePerMinute     int      `flag:"usage-per-minute" default:"5" usage:"requests for usage and evaluation counts per caller and minute; 0: no limit"`
	AdminPerMinute     int      `flag:"admin-requests-per-minute" usage:"requests to the admin API per account or organisation key and minute, over all nodes; 0: no limit"`
	EmailActivation    bool     `flag:"email-activation" usage:"new accounts must follow a link in a mail before they can sign in"`

	MaxFeatures         int `flag:"max-features" usage:"features per project; 0: no limit, and so for the next two"`
	MaxSegments         int `flag:"max-segments" usage:"segments per project"`
	MaxSegmentOverrides int `flag:"max-segment-overrides" usage:"segment overrides per environment"`
	FeatureValueLimit   int `flag:"feature-value-limit" default:"20000" zero:"no" usage:"characters of a feature value"`
	NewIdentities       int `flag:"new-identities-per-second" default:"0" usage:"identities created in one environment within a second, over all nodes; 0: no limit"`
	MaxIdentities       int `flag:"max-identities" default:"5000000" usage:"identities per environment, 60000000 at most, as 0 is; the leader's setting counts"`
	MaxTraitBytes       int `flag:"max-trait-bytes" default:"65536" usage:"bytes of one identity's trait keys and values, 65536 at most, as 0 is; the leader's setting counts"`
	MaxTraitKeys        int `flag:"max-trait-keys" default:"10000" usage:"distinct trait keys per environment; 0: no limit; the leader's setting counts"`
	SegmentConditions   int `flag:"segment-conditions" default:"100" zero:"no" usage:"conditions per segment"`

	HeaderTimeout  time.Duration `flag:"header-timeout" default:"10s" usage:"time to send the head of a request, and a body up to 16 KB; 0: no limit, and so for the next three"`
	ReadTimeout    time.Duration `flag:"read-timeout" default:"30s" usage:"time to send the body of a request"`
	WriteTimeout   time.Duration `flag:"write-timeout" default:"60s" usage:"time to take an answer, or an event of the stream of changes"`
	IdleTimeout    time.Duration `flag:"idle-timeout" default:"75s" usage:"time a connection may rest between requests"`
	LeaderTimeout  time.Duration `flag:"leader-timeout" default:"5s" zero:"no" usage:"time a write waits for a leader before 503"`
	StopTimeout    time.Duration `flag:"stop-timeout" default:"15s" usage:"time that running requests get at shutdown"`
	WebhookTimeout time.Duration `flag:"webhook-timeout" default:"10s" zero:"no" usage:"time a webhook has to answer"`
	ProbeInterval  time.Duration `flag:"probe-interval" default:"1s" usage:"how often a balancer asks /readyz; a stopping node of a cluster serves on for two of them; 0: not at all"`

	KeepChangeLog      time.Duration `flag:"keep-change-log" default:"2160h" zero:"no" usage:"age at which change-log rows go"`
	KeepChangeLogBytes int           `flag:"keep-change-log-bytes" default:"1073741824" zero:"no" usage:"memory that the change log may take, about"`
	KeepAuditBytes     int           `flag:"keep-audit-bytes" default:"1073741824" zero:"no" usage:"memory that the audit log may take, about"`
	KeepAudit          time.Duration `flag:"keep-audit" default:"8760h" zero:"no" usage:"age at which audit rows go"`
	KeepUsageBytes     int           `flag:"keep-usage-bytes" default:"268435456" zero:"no" usage:"memory that usage counts may take, about"`
	KeepUsage          time.Duration `flag:"keep-usage" default:"2160h" zero:"no" usage:"age at which usage counts go"`
	KeepAnswerBytes    int           `flag:"keep-idempotency-bytes" default:"67108864" zero:"no" usage:"memory that answers to idempotency keys may take, about"`
	KeepWebhooks       time.Duration `flag:"keep-webhooks" default:"24h" zero:"no" usage:"age at which an event that its webhook never took is given up; the leader's setting counts, as for the next two"`
	KeepWebhookEvents  int           `flag:"keep-webhook-events" default:"10000" zero:"no" usage:"events that wait for one webhook; beyond, the oldest are given up"`
	KeepWebhookBytes   int           `flag:"keep-webhook-bytes" default:"67108864" zero:"no" usage:"size of all events that wait"`
	KeepIdempotency    time.Duration `flag:"keep-idempotency" default:"10m" zero:"no" usage:"how long answers to idempotency keys are kept"`

	BackupDir         string `flag:"backup-dir" usage:"directory below which scheduled backups to directories lie; default: backups in the data directory"`
	BackupS3AccessKey string `flag:"backup-s3-access-key" secret:"true" usage:"key id for scheduled backups to S3-compatible storage; without it the AWS_ variables, the AWS credentials file and the machine's role are asked"`
	BackupS3SecretKey string `flag:"backup-s3-secret-key" secret:"true" usage:"its secret"`

	MetricsPerFlag bool `flag:"metrics-per-flag" usage:"also count evaluations flag by flag on /metrics: one series a flag and environment"`

	LogLevel  string `flag:"log-level" default:"info" choice:"debug|info|warn|error" usage:"least severe records that are logged"`
	LogFormat string `flag:"log-format" default:"text" choice:"text|json" usage:"form of log records"`
}

// Options are the part that the admin API obeys.
func (s *Settings) Options() admin.Options {
	return admin.Options{
		AllowRegistrationWithoutInvite: !s.RegistrationInvite, PreventSignup: s.PreventSignup,
		RestrictOrganisationCreateToSuperusers: s.RestrictOrgCreate, DisableInviteLinks: s.DisableInviteLinks, DisableWebhooks: s.DisableWebhooks,
		LoginPerMinute: s.LoginPerMinute, UsagePerMinute: s.UsagePerMinute, AdminPerMinute: s.AdminPerMinute, EmailActivation: s.EmailActivation,
		PublicURL: s.PublicURL, FrontendURL: s.FrontendURL,
		E2EToken:    s.E2EToken,
		MaxFeatures: s.MaxFeatures, MaxSegments: s.MaxSegments, MaxSegmentOverrides: s.MaxSegmentOverrides,
		FeatureValueLimit: s.FeatureValueLimit, SegmentConditions: s.SegmentConditions,
	}
}

// ImportLimits are the part that imports of projects obey.
func (s *Settings) ImportLimits() portable.Limits {
	return portable.Limits{Features: s.MaxFeatures, Segments: s.MaxSegments, SegmentOverrides: s.MaxSegmentOverrides,
		ValueLength: s.FeatureValueLimit, Conditions: s.SegmentConditions}
}

// IdentityCaps are the part that the leader judges identity operations by.
func (s *Settings) IdentityCaps() identity.Caps {
	return identity.Caps{Identities: s.MaxIdentities, TraitBytes: s.MaxTraitBytes, TraitKeys: s.MaxTraitKeys}
}

// Retention is the part that the Scheduler obeys.
func (s *Settings) Retention() fsm.Retention {
	r := fsm.DefaultRetention()
	r.ChangeLog, r.ChangeLogBytes = s.KeepChangeLog, uint64(s.KeepChangeLogBytes)
	r.Audit, r.Usage, r.Idempotency = s.KeepAudit, s.KeepUsage, s.KeepIdempotency
	r.AuditBytes, r.UsageBytes, r.IdempotencyBytes = uint64(s.KeepAuditBytes), uint64(s.KeepUsageBytes), uint64(s.KeepAnswerBytes)
	return r
}
