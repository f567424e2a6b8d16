// Takes orders by POST, and publishes each to NATS, whose subscribers work on them.
//
//	go tool nats-server --config nats.conf & NATS_URL=nats://127.0.0.1:4222 go run . 127.0.0.1:8000
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"github.com/nats-io/nats.go"
)

func main() {
	client, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal("NATS_URL: ", err)
	}
	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := client.Publish("orders", order); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
