// Takes events by POST, and appends each to a Redis stream, from which its consumers read.
//
//	REDIS_URL=redis://127.0.0.1:6379 go run . 127.0.0.1:8000
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"github.com/redis/go-redis/v9"
)

func main() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal("REDIS_URL: ", err)
	}
	client := redis.NewClient(options)
	http.HandleFunc("POST /events", func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		add := redis.XAddArgs{Stream: "events", MaxLen: 1_000_000, Approx: true, Values: []any{"event", event}}
		if err := client.XAdd(r.Context(), &add).Err(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
