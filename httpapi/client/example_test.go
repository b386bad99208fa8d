package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/httpapi/client"
)

// Errors have the code, the fields and the hint of the server. If the server cannot be
// reached, the error has the same type.
func ExampleClient() {
	client, err := client.New("http://127.0.0.1:1", "a-token", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.CreateTask(context.Background(), belfry.Task{Name: "hello", Command: &belfry.Command{Shell: "echo hello"}})
	var e *belfry.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code)
		fmt.Println(e.Hint)
	}
	// Output:
	// unavailable
	// nothing listens at http://127.0.0.1:1; start it with belfry serve, or name another with --server or BELFRY_SERVER
}
