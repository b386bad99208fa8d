package brokertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	api "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/app/transport/sqs"
	"github.com/belfry-run/belfry/core"
)

const region = "eu-central-1"

// sqsServer is the one of this process.
var sqsServer struct {
	address string
	client  *api.Client
}

func startSQS() (stop func(), err error) {
	address, stop, err := fauxqs()
	if err != nil {
		return nil, err
	}
	sqsServer.address = address
	endpoint := "http://" + address
	sqsServer.client = api.New(api.Options{
		Region: region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("belfry-test", "belfry-test-secret", ""),
	})
	// The credentials come as an operator gives them, and from nowhere else.
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "belfry-test", "AWS_SECRET_ACCESS_KEY": "belfry-test-secret", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return stop, nil
}

// fauxqs starts the server, which ends with this process.
func fauxqs() (address string, stop func(), err error) {
	cpu := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if cpu == "" {
		cpu = runtime.GOARCH
	}
	node := filepath.Join("node_modules", "node-linux-"+cpu, "bin", "node")
	for _, file := range []string{node, filepath.Join("node_modules", "fauxqs", "package.json")} {
		if _, err := os.Stat(filepath.Join("sqs", file)); err != nil {
			return "", nil, fmt.Errorf("fauxqs is not installed: %w\ninstall it: app/transport/brokertest/setup.sh, or: make setup-brokers", err)
		}
	}
	cmd := exec.Command(node, "server.mjs")
	cmd.Dir, cmd.Stderr = "sqs", os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	stop = func() { _, _ = in.Close(), cmd.Wait() }
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("fauxqs did not start: %w", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port), stop, nil
}

func newSQS(t *testing.T, hold time.Duration) *place {
	t.Helper()
	name := newName()
	var refuse atomic.Bool
	front := refuser(t, &refuse)
	p := &place{gate: newGate(t, front), log: &logs{}}
	p.client = func(t *testing.T) transport.Carrier { return openSQS(t, p.address, name, hold, p.log) }
	p.send = func(t *testing.T, body string) {
		_, err := sqsServer.client.SendMessage(t.Context(), &api.SendMessageInput{QueueUrl: queueURL(t, name), MessageBody: &body})
		must(t, err)
	}
	p.giveUpAfter = func(t *testing.T, n int) {
		setPolicy(t, name, fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:%s:000000000000:%s-dead","maxReceiveCount":%d}`, region, name, n))
	}
	p.dead = func(t *testing.T) int {
		out, err := sqsServer.client.GetQueueAttributes(t.Context(), &api.GetQueueAttributesInput{
			QueueUrl: queueURL(t, name+"-dead"), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
		})
		must(t, err)
		n, err := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"])
		must(t, err)
		return n
	}
	p.refuse = func(*testing.T) { refuse.Store(true) }
	return p
}

func openSQS(t *testing.T, address, name string, hold time.Duration, log *logs) *sqs.Queue {
	t.Helper()
	where, err := sqs.Parse("sqs://" + region + "/" + name + "?endpoint=http://" + address)
	must(t, err)
	q, err := sqs.Open(t.Context(), where, sqs.Options{Hold: hold, Logger: log.logger()})
	must(t, err)
	t.Cleanup(func() { _ = q.Close() })
	return q
}

func queueURL(t *testing.T, name string) *string {
	t.Helper()
	out, err := sqsServer.client.GetQueueUrl(t.Context(), &api.GetQueueUrlInput{QueueName: &name})
	must(t, err)
	return out.QueueUrl
}

func setPolicy(t *testing.T, name, policy string) {
	t.Helper()
	_, err := sqsServer.client.SetQueueAttributes(t.Context(), &api.SetQueueAttributesInput{
		QueueUrl: queueURL(t, name), Attributes: map[string]string{"RedrivePolicy": policy},
	})
	must(t, err)
}

// refuser is SQS on a bad day: when it is told, it refuses the second message of
// a batch, as the service does under load.
func refuser(t *testing.T, refuse *atomic.Bool) (address string) {
	t.Helper()
	server, err := url.Parse("http://" + sqsServer.address)
	must(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(server) },
		ErrorLog: log.New(io.Discard, "", 0), // clients go away all the time
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" || !refuse.CompareAndSwap(true, false) {
			proxy.ServeHTTP(w, r)
			return
		}
		var batch map[string]any
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			t.Error(err)
		}
		entries := batch["Entries"].([]any)
		out := entries[1].(map[string]any)
		batch["Entries"] = append(entries[:1:1], entries[2:]...)
		body, _ := json.Marshal(batch)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		record := httptest.NewRecorder()
		proxy.ServeHTTP(record, r)
		var answer map[string]any
		if err := json.Unmarshal(record.Body.Bytes(), &answer); err != nil {
			t.Error(err)
		}
		answer["Failed"] = []any{map[string]any{"Id": out["Id"], "Code": "InternalError", "SenderFault": false}}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(front.Close)
	return strings.TrimPrefix(front.URL, "http://")
}

func TestAQueueOfSQSWithoutAFitDeadLetterQueueIsRefused(t *testing.T) {
	t.Parallel()
	p := newSQS(t, long)
	name := newName()
	_, err := sqsServer.client.CreateQueue(t.Context(), &api.CreateQueueInput{QueueName: &name})
	must(t, err)
	q := openSQS(t, p.address, name, long, p.log)
	err = q.Check(t.Context())
	wantCode(t, err, core.Invalid)
	if !strings.Contains(err.Error(), "dead-letter queue") {
		t.Error(err)
	}
	must(t, q.Setup(t.Context())) // ties what is there
	must(t, q.Check(t.Context()))
	setPolicy(t, name, fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:%s:000000000000:%s-dead","maxReceiveCount":"3"}`, region, name))
	wantCode(t, q.Check(t.Context()), core.Invalid)
	must(t, q.Setup(t.Context())) // and leaves alone what somebody chose
	wantCode(t, q.Check(t.Context()), core.Invalid)
}

func TestANodeStartsBeforeSQS(t *testing.T) {
	t.Parallel()
	q := openSQS(t, "127.0.0.1:1", "render", long, &logs{})
	left, err := q.Publish(t.Context(), tickets(1, 3))
	wantCode(t, err, core.Unavailable)
	if len(left) != 3 || strings.Contains(err.Error(), "127.0.0.1:1/") {
		t.Error(left, err)
	}
	wantCode(t, q.Check(t.Context()), core.Unavailable)
}
