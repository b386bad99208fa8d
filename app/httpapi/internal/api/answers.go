package api

import (
	"encoding/json"
	"net/http"
)

// WriteJSON answers with a value as JSON, on a route that the OpenAPI document does not describe.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has disconnected
}
