{{- define "belfry.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end }}

{{- define "belfry.labels" -}}
app.kubernetes.io/name: belfry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "belfry.selector" -}}
app.kubernetes.io/name: belfry
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "belfry.image" -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end }}

{{- define "belfry.serverURL" -}}
{{ .Values.serverURL | default (printf "%s://%s-server.%s.svc:7420" (include "belfry.scheme" .) (include "belfry.name" .) .Release.Namespace) }}
{{- end }}

{{- define "belfry.scheme" -}}{{ ternary "https" "http" (ne .Values.server.tls.secretName "") }}{{- end }}

{{- define "belfry.secrets" -}}{{ .Values.secrets.existing | default (printf "%s-secrets" (include "belfry.name" .)) }}{{- end }}

{{/* The workers' token: one file, and nothing else of what is secret. */}}
{{- define "belfry.workerTokenVolume" -}}
- name: token
  secret:
    defaultMode: 0440
    {{- if .Values.workerToken.secretName }}
    secretName: {{ .Values.workerToken.secretName }}
    items: [{key: {{ .Values.workerToken.key }}, path: token}]
    {{- else if .Values.server.enabled }}
    secretName: {{ include "belfry.secrets" . }}
    items: [{key: worker-token, path: token}]
    {{- else }}
    {{- fail "without server.enabled, workerToken.secretName must name a secret with a token of the server" }}
    {{- end }}
{{- end }}

{{/* Whom workers trust besides the system's authorities: who signed the server's certificate, if its secret has it. */}}
{{- define "belfry.caVolume" -}}
{{- if and .Values.server.tls.secretName .Values.server.tls.caKey -}}
- name: ca
  secret:
    secretName: {{ .Values.server.tls.secretName }}
    defaultMode: 0444
    items: [{key: {{ .Values.server.tls.caKey }}, path: ca.crt}]
{{- end }}
{{- end }}
{{- define "belfry.caMount" -}}
{{- if and .Values.server.tls.secretName .Values.server.tls.caKey -}}
- {name: ca, mountPath: /run/belfry-ca, readOnly: true}
{{- end }}
{{- end }}
{{- define "belfry.caEnv" -}}
{{- if and .Values.server.tls.secretName .Values.server.tls.caKey -}}
- {name: BELFRY_CA_FILE, value: /run/belfry-ca/ca.crt}
{{- end }}
{{- end }}

{{/* What every pod has: nobody's user, no token of the cluster. */}}
{{- define "belfry.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.user }}
  runAsGroup: {{ .Values.user }}
  fsGroup: {{ .Values.user }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What every container has: the restricted standard, and a root that cannot be written to. */}}
{{- define "belfry.containerSecurity" -}}
image: {{ include "belfry.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* What a worker may do with programs. */}}
{{- define "belfry.programEnv" -}}
- {name: BELFRY_MIN_ISOLATION, value: {{ .minIsolation | quote }}}
- {name: BELFRY_ALLOW_NETWORK, value: {{ .allowNetwork | quote }}}
- {name: BELFRY_UNGUARDED_NETWORK, value: {{ .unguardedNetwork | quote }}}
{{- end }}

{{- define "belfry.queuesEnv" -}}
{{- if . }}
- {name: BELFRY_ONLY_QUEUES, value: {{ join "," . | quote }}}
{{- end }}
{{- end }}

{{/* The pod of one program. Only the first container sees the worker's token. */}}
{{- define "belfry.programPod" -}}
metadata:
  labels: {{- include "belfry.selector" (dict "root" . "component" "program") | nindent 4 }}
spec:
  {{- include "belfry.podSecurity" . | nindent 2 }}
  restartPolicy: Never
  terminationGracePeriodSeconds: 60
  initContainers:
    - name: init
      {{- include "belfry.containerSecurity" . | nindent 6 }}
      args: [worker, init, --dir, /belfry, --wait, {{ .Values.pods.wait | quote }}]
      env:
        - {name: BELFRY_SERVER, value: {{ include "belfry.serverURL" . | quote }}}
        - {name: BELFRY_TOKEN_FILE, value: /run/belfry/token}
        {{- include "belfry.programEnv" .Values.pods | nindent 8 }}
        {{- include "belfry.queuesEnv" .Values.pods.queues | nindent 8 }}
        {{- with include "belfry.caEnv" . }}{{ . | nindent 8 }}{{ end }}
      resources: {{- toYaml .Values.pods.resources | nindent 8 }}
      volumeMounts:
        - {name: belfry, mountPath: /belfry}
        - {name: tmp, mountPath: /tmp}
        - {name: token, mountPath: /run/belfry, readOnly: true}
        {{- with include "belfry.caMount" . }}{{ . | nindent 8 }}{{ end }}
  containers:
    - name: main
      {{- include "belfry.containerSecurity" . | nindent 6 }}
      args: [worker, main, --dir, /belfry, --grace, 30s]
      env:
        {{- include "belfry.programEnv" .Values.pods | nindent 8 }}
        {{- with include "belfry.caEnv" . }}{{ . | nindent 8 }}{{ end }}
      resources: {{- toYaml .Values.pods.resources | nindent 8 }}
      volumeMounts:
        - {name: belfry, mountPath: /belfry}
        - {name: tmp, mountPath: /tmp}
        {{- with include "belfry.caMount" . }}{{ . | nindent 8 }}{{ end }}
  volumes:
    - name: belfry
      emptyDir: {sizeLimit: {{ .Values.pods.volumeSize }}}
    - name: tmp
      emptyDir: {sizeLimit: 64Mi}
    {{- include "belfry.workerTokenVolume" . | nindent 4 }}
    {{- with include "belfry.caVolume" . }}{{ . | nindent 4 }}{{ end }}
{{- end }}

{{/* How a job of one such pod ends. Belfry retries, so Kubernetes must not. */}}
{{- define "belfry.programJob" -}}
backoffLimit: 0
activeDeadlineSeconds: {{ .Values.pods.deadline }}
ttlSecondsAfterFinished: 300
podReplacementPolicy: Failed
podFailurePolicy:
  rules:
    - action: FailJob # 8: there was nothing to do
      onExitCodes: {containerName: init, operator: In, values: [8]}
    - action: FailJob
      onExitCodes: {operator: NotIn, values: [0]}
template: {{- include "belfry.programPod" . | nindent 2 }}
{{- end }}
