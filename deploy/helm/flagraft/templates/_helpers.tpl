{{- define "flagraft.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "flagraft.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "flagraft.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "flagraft.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "flagraft.headless" -}}
{{ include "flagraft.fullname" . }}-nodes
{{- end }}

{{- define "flagraft.selector" -}}
app.kubernetes.io/name: {{ include "flagraft.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "flagraft.labels" -}}
{{ include "flagraft.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "flagraft.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "flagraft.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "flagraft.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "flagraft.clusterSecretName" -}}
{{ .Values.clusterSecret.existingSecret | default (printf "%s-cluster-secret" (include "flagraft.fullname" .)) }}
{{- end }}

{{- /* The domain below which each pod has its name. */}}
{{- define "flagraft.nodesDomain" -}}
{{ include "flagraft.headless" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{- define "flagraft.bootstrapExpect" -}}
{{- $expect := .Values.bootstrapExpect | default .Values.replicas | int }}
{{- $replicas := int .Values.replicas }}
{{- if and (eq $expect 1) (gt $replicas 1) }}
{{- fail "bootstrapExpect is 1 with several replicas: each would make a cluster of its own. Raise it; a cluster that is there already is not touched" }}
{{- end }}
{{- if le (mul 2 $expect) $replicas }}
{{- fail (printf "bootstrapExpect %d is not more than half of %d replicas: two clusters could form" $expect $replicas) }}
{{- end }}
{{- $expect }}
{{- end }}
