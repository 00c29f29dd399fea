package admin

import (
	"slices"

	"github.com/flagraft/flagraft/server/route"
)

// Rows lists every endpoint of the admin API, a line per resource file.
func Rows() []route.Row {
	return slices.Concat(
		userRows(), meRows(), recoveryRows(), activationRows(), loginRows(), secondFactorRows(),
		oauthMetadataRows(), oauthClientRows(), oauthAuthorizeRows(), oauthTokenRows(),
		organisationRows(), organisationSettingRows(), memberRows(), masterAPIKeyRows(),
		groupRows(), groupUserRows(), inviteRows(), inviteLinkRows(), joinRows(),
		projectRows(), permissionRows(), myPermissionsRows(), permissionDetailRows(),
		environmentRows(), environmentCloneRows(), environmentTraitRows(), environmentAPIKeyRows(), environmentMetricRows(), environmentVersioningRows(),
		environmentOnboardingRows(),
		integrationRows(),
		auditRows(), webhookRows(), webhookTestRows(), webhookDeliveryRows(),
		tagRows(),
		metadataFieldRows(), metadataModelFieldRows(),
		usageRows(), featureHealthRows(), featureHealthHookRows(), codeReferenceRows(), lifecycleRows(), featureExportRows(), featureImportRows(),
		featureRows(), featureOwnerRows(), multivariateOptionRows(),
		environmentFeatureStateRows(), featureStateRows(), featureSegmentRows(), segmentOverrideRows(),
		featureVersionRows(), featureVersionStateRows(), flagRows(), flagUpdateRows(),
		segmentRows(),
		identityRows(), identityTraitRows(), identityFeatureStateRows(),
		edgeIdentityRows(), edgeFeatureStateRows(), edgeByIdentifierRows(),
		explainRows(), segmentMatchRows(), scheduleRows(), changeRows(), featureHistoryRows(),
	)
}
