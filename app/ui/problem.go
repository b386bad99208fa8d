package ui

import (
	"encoding/json"
	"net/http"

	"github.com/belfry-run/belfry/app/ui/internal/asset"
)

// problem is an error for machines, in the words of the API.
func problem(status int) asset.Document {
	code, title := "unavailable", "Not available now"
	if status == http.StatusNotFound {
		code, title = "not_found", "Not found"
	}
	body, _ := json.Marshal(struct { // plain words and numbers
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
	}{title, status, code})
	return asset.NewDocument("application/problem+json", body)
}
