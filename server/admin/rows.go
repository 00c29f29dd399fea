package admin

import (
	"slices"

	"github.com/flagraft/flagraft/server/route"
)

// Rows lists every endpoint of the admin API, a line per resource file.
func Rows() []route.Row {
	return slices.Concat(
		userRows(), meRows(), loginRows(),
		organisationRows(), memberRows(), masterAPIKeyRows(),
		projectRows(), permissionRows(), myPermissionsRows(),
		environmentRows(), environmentCloneRows(), environmentTraitRows(), environmentAPIKeyRows(),
		auditRows(),
		tagRows(),
		segmentRows(),
		segmentOverrideRows(),
		featureSegmentRows(),
		multivariateOptionRows(),
		featureOwnerRows(),
		featureRows(),
		featureStateRows(),
		environmentFeatureStateRows(),
		identityRows(), identityTraitRows(), identityFeatureStateRows(),
		edgeIdentityRows(), edgeFeatureStateRows(), edgeByIdentifierRows(),
	)
}
