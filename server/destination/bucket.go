package destination

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// partSize is how much of an upload is in memory at a time; ten thousand parts are
// the most that S3 takes, so 160 GB.
const partSize = 16 << 20

// location is a parsed s3:// target.
type location struct {
	bucket, prefix, endpoint, region string
	secure                           bool
}

// parseBucket reads s3://bucket/prefix?endpoint=…&region=….
func parseBucket(target string) (location, error) {
	fail := func(why string) (location, error) {
		return location{}, fmt.Errorf("%w: %s; write s3://bucket/prefix?endpoint=https://host:port&region=name", ErrTarget, why)
	}
	u, err := url.Parse(target)
	if err != nil {
		return fail("it cannot be read") // the text may hold credentials: not repeated
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case u.User != nil:
		return fail("credentials belong into the nodes' settings")
	case u.Host == "" || u.Port() != "":
		return fail("it names no bucket")
	case err != nil || u.Fragment != "":
		return fail("it cannot be read")
	}
	if err := s3utils.CheckValidBucketName(u.Host); err != nil {
		return fail(err.Error()) // now, not at each backup
	}
	for k := range query {
		if k != "endpoint" && k != "region" {
			return fail("only endpoint and region may stand after the question mark")
		}
	}
	l := location{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), endpoint: "s3.amazonaws.com", region: query.Get("region"), secure: true}
	if l.prefix != "" {
		l.prefix += "/"
	}
	if e := query.Get("endpoint"); e != "" {
		at, err := url.Parse(e)
		if err != nil || at.Host == "" || at.User != nil || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.Scheme != "https" && at.Scheme != "http" {
			return fail("the endpoint is not http(s)://host:port")
		}
		l.endpoint, l.secure = at.Host, at.Scheme == "https"
	}
	return l, nil
}

// bucket is a prefix in a bucket of S3-compatible storage.
type bucket struct {
	location
	client *minio.Client
}

func openBucket(target string, c Config) (*bucket, error) {
	l, err := parseBucket(target)
	if err != nil {
		return nil, err
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
	})
	if c.AccessKey != "" {
		keys = credentials.NewStaticV4(c.AccessKey, c.SecretKey, "")
	}
	transport, err := patientTransport(l.secure, c.stall)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(l.endpoint, &minio.Options{Creds: keys, Secure: l.secure, Region: l.region, Transport: transport, MaxRetries: attempts})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return &bucket{l, client}, nil
}

// Put uploads in parts, each with an MD5 sum that the server compares: every server
// knows those, and not every one takes the newer sums over parts. An upload
// that breaks off is aborted and leaves no object.
func (b *bucket) Put(ctx context.Context, name string, write func(io.Writer) error) (int64, error) {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		_ = w.CloseWithError(err) // nil: the end of the file
		written <- err
	}()
	info, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, r, -1, minio.PutObjectOptions{
		PartSize: partSize, ContentType: "application/octet-stream", SendContentMd5: true,
	})
	_ = r.CloseWithError(errUploadEnded) // ends write when the upload failed first
	if failed := <-written; failed != nil && !errors.Is(failed, errUploadEnded) {
		err = failed
	}
	if err != nil {
		return 0, fmt.Errorf("upload to %s: %w", b.endpoint, err)
	}
	return info.Size, nil
}

var errUploadEnded = errors.New("the upload ended")

// List names the objects below the prefix.
func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	var names []string
	for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix}) {
		if o.Err != nil {
			return nil, fmt.Errorf("list %s: %w", b.endpoint, o.Err)
		}
		if name := strings.TrimPrefix(o.Key, b.prefix); !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove deletes an object.
func (b *bucket) Remove(ctx context.Context, name string) error {
	if err := b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("remove from %s: %w", b.endpoint, err)
	}
	return nil
}
