// Build: go mod init push && go get github.com/gomodule/redigo@v1.8.9 && go build -o push push.go
// With Debian's package golang-github-gomodule-redigo-dev instead:
// GO111MODULE=off GOPATH=/usr/share/gocode go build -o push push.go
// Usage: REDIS_URL=redis://127.0.0.1:6379/0 ./push PROJECT JOB_ID TOKEN...
// Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis cannot be reached.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const group = "newsletter-go"

var conn redis.Conn

func must(reply interface{}, err error) interface{} {
	if err != nil && conn.Err() != nil {
		unreachable(err)
	} else if err != nil {
		log.Fatal(err)
	}
	return reply
}

func unreachable(err error) {
	log.Print("Redis cannot be reached: ", err)
	os.Exit(69)
}

// read hands over what the group has not acknowledged: first what this consumer was given before it crashed.
func read(stream string, handle func(fields map[string]string)) {
	for _, start := range []string{"0", ">"} {
		for {
			reply, err := redis.Values(conn.Do("XREADGROUP", "GROUP", group, "one", "COUNT", 100, "STREAMS", stream, start))
			if err == redis.ErrNil {
				break
			}
			must(reply, err)
			entries, err := redis.Values(reply[0].([]interface{})[1], nil)
			must(entries, err)
			if len(entries) == 0 {
				break
			}
			for _, entry := range entries {
				pair := entry.([]interface{})
				fields, err := redis.StringMap(pair[1], nil)
				must(fields, err)
				handle(fields)
				must(conn.Do("XACK", stream, group, pair[0])) // only now: a crash before this line has it read again
			}
		}
	}
}

func onResults(fields map[string]string) {
	var results []struct {
		I      int    `json:"i"`
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal([]byte(fields["results"]), &results); err != nil {
		log.Fatal(err)
	}
	for _, result := range results {
		if result.Error == "" {
			result.Error = "-"
		}
		// "sent": FCM accepted the message. It does not mean that a device showed it.
		fmt.Println(fields["job"], result.I, result.Status, result.Error)
	}
}

func onFeedback(fields map[string]string) {
	// "remove": forget the token. "replace": use fields["replacement"] from now on.
	fmt.Println("feedback", fields["action"], fields["token"]+fields["fid"])
}

// follow reads results and feedback until the job is over, and returns whether all of it was sent.
func follow(base, id string) bool {
	for {
		job, err := redis.StringMap(conn.Do("HGETALL", base+":job:"+id)) // empty until a worker has taken the job
		must(job, err)
		read(base+":results", onResults)
		read(base+":feedback", onFeedback)
		switch job["state"] {
		case "rejected":
			log.Printf("%s is rejected: %s", id, job["reason"])
			return false
		case "done", "cancelled", "expired":
			fmt.Printf("%s is %s: %s sent, %s failed, %s unknown of %s\n",
				id, job["state"], job["sent"], job["failed"], job["unknown"], job["total"])
			return job["sent"] == job["total"]
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func main() {
	project, id, recipients := os.Args[1], os.Args[2], os.Args[3:]
	base := "fanfare:{" + project + "}"
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://127.0.0.1:6379/0"
	}
	var err error
	if conn, err = redis.DialURL(url); err != nil {
		unreachable(err)
	}
	defer conn.Close()

	// Created before the first push and at the end of each stream ($), so that this group reads every result of its own
	// jobs and none that is older. It stays until XGROUP DESTROY.
	for _, name := range []string{"results", "feedback"} {
		_, err := conn.Do("XGROUP", "CREATE", base+":"+name, group, "$", "MKSTREAM")
		if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
			must(nil, err)
		}
	}

	// The id makes the push idempotent: repeated within 24 hours, it sends nothing.
	tokens, _ := json.Marshal(recipients)
	message := `{"notification":{"title":"Hello","body":"World"}}`
	must(conn.Do("XADD", base+":jobs", "*", "id", id, "tokens", tokens, "message", message))

	// A personal job: each recipient has a value for the placeholder.
	type person struct {
		Token string            `json:"token"`
		Vars  map[string]string `json:"vars"`
	}
	people := []person{}
	for _, token := range recipients {
		people = append(people, person{token, map[string]string{"name": "Ana"}})
	}
	personal, list := id+"-personal", must(json.Marshal(people))
	message = `{"notification":{"title":"Hello {{name|there}}","body":"World"}}`
	must(conn.Do("XADD", base+":jobs", "*", "id", personal, "recipients", list, "message", message))
	fmt.Println("pushed", id, "and", personal)

	isSent, isPersonalSent := follow(base, id), follow(base, personal)
	if !isSent || !isPersonalSent {
		os.Exit(1)
	}
}
