{{/* The name of everything: the release's, unless it does not tell what it is. */}}
{{- define "turnstile.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains "turnstile" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-turnstile" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "turnstile.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "turnstile.name" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "turnstile.selectorLabels" -}}
app.kubernetes.io/name: turnstile
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "turnstile.labels" -}}
{{ include "turnstile.selectorLabels" . }}
app.kubernetes.io/part-of: multikueue-turnstile
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "turnstile.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The configuration file: what the values say, with what only the chart knows. */}}
{{- define "turnstile.configuration" -}}
{{- $http := dict "probeBindAddress" "0.0.0.0" "probePort" 9645 -}}
{{- if .Values.metrics.enabled -}}
{{- $files := dict "certificateFile" "/etc/turnstile-tls/tls.crt" "keyFile" "/etc/turnstile-tls/tls.key" -}}
{{- $http = merge $http $files (dict "bindAddress" "0.0.0.0" "authorization" "Kubernetes") -}}
{{- end -}}
{{- $fixed := dict "apiVersion" "config.multikueue-turnstile.dev/v1alpha1" "kind" "Configuration" "hub" (dict "namespace" .Release.Namespace) "http" $http -}}
{{- mergeOverwrite (deepCopy .Values.configuration) $fixed | toYaml -}}
{{- end -}}

{{/* The roles of one file of deploy/rbac under this release's names, with bindings unless others bind them.
Takes the context, the file, and `unbound`. */}}
{{- define "turnstile.roles" -}}
{{- $context := .context -}}
{{- $unbound := .unbound | default false -}}
{{- range $document := regexSplit "(?m)^---\\s*$" (.context.Files.Get (printf "files/%s.yaml" .file)) -1 }}
{{- $role := fromYaml $document }}
{{- if has $role.kind (list "ClusterRole" "Role") }}
{{- $isCluster := eq $role.kind "ClusterRole" }}
{{- $name := $role.metadata.name | replace "turnstile" (include "turnstile.name" $context) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}
metadata:
  name: {{ $name }}
  {{- if not $isCluster }}
  namespace: {{ $context.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "turnstile.labels" $context | nindent 4 }}
rules:
  {{- range $rule := $role.rules }}
  {{- if and (has "leases" ($rule.resources | default list)) (has "turnstile" ($rule.resourceNames | default list)) }}
  {{- $_ := set $rule "resourceNames" (list (dig "leaderElection" "leaseName" "turnstile" $context.Values.configuration)) }}
  {{- end }}
  {{- end }}
  {{- toYaml $role.rules | nindent 2 }}
{{- if not $unbound }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}Binding
metadata:
  name: {{ $name }}
  {{- if not $isCluster }}
  namespace: {{ $context.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "turnstile.labels" $context | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role.kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "turnstile.serviceAccount" $context }}
    namespace: {{ $context.Release.Namespace }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
