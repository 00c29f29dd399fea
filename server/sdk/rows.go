package sdk

import (
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// Rows are the routes of the SDK API.
func (s *SDK) Rows() []route.Row {
	const key, server = route.EnvironmentKey, route.ServerKey
	rows := []route.Row{
		{Method: "GET", Path: "/api/v1/flags/", OperationID: "sdk_v1_flags", Kind: route.Read, Auth: key, Refusals: []int{404},
			Summary: "Retrieve the feature flags for an environment.",
			OwnHead: true, Hot: true, Handler: route.Raw(s.getFlags, flagsQuery{}, flagsAnswer{})},
		{Method: "GET", Path: "/api/v1/identities/", OperationID: "sdk_v1_get_identities", Kind: route.Identity, Auth: key, Refusals: []int{404},
			Summary: "Retrieve the flags and traits for an identity.",
			Handler: raw(s.getIdentities, identityQuery{}, identityAnswer{})},
		{Method: "POST", Path: "/api/v1/identities/", OperationID: "sdk_v1_post_identities", Kind: route.Identity, Auth: key,
			Summary: "Identify a user, set their traits, and retrieve their flags.",
			OwnHead: true, Hot: true, Expect: s.expectIdentity, Handler: route.Raw(s.postIdentities, identifyInput{}, identityOutput{})},
		{Method: "POST", Path: "/api/v1/bulk-identities/", OperationID: "sdk_v1_bulk_identities", Kind: route.Identity, Auth: key,
			Summary: "Create or update up to 100 identities and their traits.",
			Handler: raw(s.postBulk, bulkInput{}, bulkOutput{})},
		{Method: "GET", Path: "/api/v1/environment-document/", OperationID: "sdk_v1_environment_document", Kind: route.Read, Auth: server,
			Summary: "Retrieve the environment document.",
			Handler: raw(s.getDocument, documentQuery{}, documentOutput{})},
		{Method: "POST", Path: "/api/v1/analytics/flags/", OperationID: "api_v1_analytics_flags_create", Kind: route.Local, Auth: key,
			Summary: "Report how often flags were evaluated.",
			Handler: raw(s.postAnalytics, analyticsCounts{}, nil)},
		{Method: "POST", Path: "/api/v2/analytics/flags/", OperationID: "api_v2_analytics_flags_create", Kind: route.Local, Auth: key,
			Summary: "Report how often flags were evaluated.", Status: 204,
			Handler: raw(s.postAnalyticsV2, analyticsInput{}, nil)},
		{Method: "POST", Path: "/api/v1/traits/", OperationID: "api_v1_traits_create", Kind: route.Identity, Auth: key,
			Summary: "Set one trait of an identity.",
			Handler: raw(s.postTrait, traitInputBody{}, traitInputBody{})},
		{Method: "PUT", Path: "/api/v1/traits/bulk/", OperationID: "api_v1_traits_bulk_update", Kind: route.Identity, Auth: key,
			Summary: "Set or delete traits of many identities.",
			Handler: raw(s.putTraits, bulkTraitInput{}, []traitInputBody{})},
		{Method: "POST", Path: "/api/v1/traits/increment-value/", OperationID: "api_v1_traits_increment_value_create", Kind: route.Identity, Auth: key,
			Summary: "Add to an integer trait.",
			Handler: raw(s.postIncrement, incrementInput{}, incrementOutput{})},
		{Method: "GET", Path: "/api/v1/flags/{feature_id}/multivariate-options/", OperationID: "api_v1_flags_multivariate_options_list", Kind: route.Read, Auth: key,
			Summary: "Retrieve the possible values of a feature.",
			Handler: raw(s.getOptions, featurePath{}, optionsOutput{})},
		{Method: "GET", Path: "/api/v1/flags/{identifier}", OperationID: "sdk_v1_flags_2", Kind: route.Identity, Auth: key, Deprecated: true,
			Summary: "Retrieve the flags of an identity.",
			Handler: raw(s.getIdentityFlags, identifierPath{}, []flagOutput{})},
		{Method: "GET", Path: "/api/v1/identities/{identifier}/", OperationID: "sdk_v1_get_identities_2", Kind: route.Identity, Auth: key, Deprecated: true,
			Summary: "Retrieve the flags, traits and segments of an identity.",
			Handler: raw(s.getIdentity, identifierPath{}, oldIdentityOutput{})},
		{Method: "POST", Path: "/api/v1/identities/{identifier}/traits/{trait_key}", OperationID: "sdk_v1_post_identity_trait", Kind: route.Identity, Auth: key, Deprecated: true,
			Summary: "Set one trait of an identity.",
			Handler: raw(s.postIdentityTrait, identityTraitPath{}, traitOutput{})},
		{Method: "GET", Path: "/sse/environments/{environment_key}/stream", OperationID: "sse_environment_stream", Kind: route.Local, Auth: route.None, Refusals: []int{403, 503},
			Summary: "Stream the updates of an environment.",
			Description: "Server-sent events, for client-side environment keys: `environment_updated` with the environment's new `updated_at` in Unix " +
				"seconds, once when this node serves it and once more when all nodes do. The stream begins with the present one; with `Last-Event-ID` " +
				"only if there is a newer one. It is served whatever the project's `enable_realtime_updates` says.",
			Handler: raw(s.getStream, streamPath{}, nil)},
		{Method: "GET", Path: "/sse/environments/{environment_key}/ofrep", OperationID: "sse_environment_ofrep", Kind: route.Local, Auth: route.None, Refusals: []int{403, 503},
			Summary:     "Stream the updates of an environment for OFREP clients.",
			Description: "As the stream beside it, with messages `{\"type\": \"refetchEvaluation\", \"etag\": …}`.",
			Handler:     raw(s.getOFREPStream, streamPath{}, nil)},
		{Method: "POST", Path: "/api/v1/analytics/telemetry/", OperationID: "api_v1_analytics_telemetry_create", Kind: route.Local, Auth: route.None, Hidden: true,
			Handler: raw(s.postTelemetry, nil, nil)},
	}
	for i := range rows {
		rows[i].Tag = "sdk"
	}
	return rows
}

// raw makes a handler that, like the reference, names the allowed methods on
// every answer.
func raw(f func(*fasthttp.RequestCtx, *route.Match), in, out any) route.RawHandler {
	return route.Raw(func(ctx *fasthttp.RequestCtx, m *route.Match) {
		ctx.Response.Header.Set(fasthttp.HeaderAllow, m.Allow)
		f(ctx, m)
	}, in, out)
}
