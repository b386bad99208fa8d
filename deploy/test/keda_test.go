package deploy_test

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is used here of KEDA's objects, by its reference.

type scaledJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		PollingInterval            int             `json:"pollingInterval"`
		MaxReplicaCount            int             `json:"maxReplicaCount"`
		SuccessfulJobsHistoryLimit int             `json:"successfulJobsHistoryLimit"`
		FailedJobsHistoryLimit     int             `json:"failedJobsHistoryLimit"`
		JobTargetRef               batchv1.JobSpec `json:"jobTargetRef"`
		Triggers                   []trigger       `json:"triggers"`
	} `json:"spec"`
}

type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int       `json:"minReplicaCount"`
		MaxReplicaCount int       `json:"maxReplicaCount"`
		PollingInterval int       `json:"pollingInterval"`
		Triggers        []trigger `json:"triggers"`
	} `json:"spec"`
}

type trigger struct {
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata"`
}
