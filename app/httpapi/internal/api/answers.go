package api

import (
	"encoding/json"
	"net/http"
)

// WriteJSON answers with a value outside of the described routes.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the reader has left
}
