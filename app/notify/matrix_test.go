package notify_test

import (
	"net/http"
	"testing"
)

func TestMatrixKeepsTheTransactionOverTries(t *testing.T) {
	t.Parallel()
	answers := []int{http.StatusBadGateway, http.StatusOK, http.StatusOK}
	r := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPut {
			t.Errorf("the method is %s", q.Method)
		}
		w.WriteHeader(answers[0])
		answers = answers[1:]
	})
	s, c := newSender(t), httpChannels(r.URL)["matrix"]
	checkFault(t, "matrix", s.Send(patient(t), c, messages[0].Message), false, "502")
	for _, m := range messages[:2] {
		if err := s.Send(patient(t), c, m.Message); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.take(); len(got) != 3 || got[0].path != got[1].path || got[1].path == got[2].path {
		t.Errorf("the requests are %v", got)
	}
}
