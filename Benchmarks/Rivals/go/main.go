// Go's own HTTP/2 client in a bare loop: no queue, the same request over and over. One http.Transport for each
// connection, a goroutine for each stream. Takes the job file of the libcurl floor and prints the same answer.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type job struct {
	URL          string   `json:"url"`
	Authority    string   `json:"authority"`
	Headers      []string `json:"headers"`
	Body         string   `json:"body"`
	Lanes        int      `json:"lanes"`
	Streams      int      `json:"streams"`
	WarmUp       int64    `json:"warmUp"`
	Sends        int64    `json:"sends"`
	LimitSeconds float64  `json:"limitSeconds"`
}

type answer struct {
	Sent        int64  `json:"sent"`
	Failed      int64  `json:"failed"`
	WallNs      int64  `json:"wallNs"`
	UserNs      int64  `json:"userNs"`
	SystemNs    int64  `json:"systemNs"`
	WarmUpCPUNs int64  `json:"warmUpCPUNs"`
	FirstError  string `json:"firstError"`
	// Of the whole process, as the kernel counts it.
	PeakMemoryMegabytes float64 `json:"peakMemoryMegabytes"`
}

type run struct {
	job     job
	header  http.Header
	clients []*http.Client
	answer  answer
	once    sync.Once
}

func main() {
	if err := execute(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func execute(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := &run{header: http.Header{}}
	if err := json.Unmarshal(text, &r.job); err != nil {
		return err
	}
	time.AfterFunc(time.Duration(r.job.LimitSeconds*float64(time.Second)), func() { os.Exit(2) })
	for _, line := range r.job.Headers {
		name, value, _ := strings.Cut(line, ":")
		r.header.Set(name, strings.TrimSpace(value))
	}
	pem, err := os.ReadFile(r.job.Authority)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", r.job.Authority)
	}
	for i := 0; i < r.job.Lanes; i++ {
		client := &http.Client{Transport: &http.Transport{
			ForceAttemptHTTP2:  true,
			DisableCompression: true,
			TLSClientConfig:    &tls.Config{RootCAs: roots},
		}}
		// The connection first: requests that start together on none open one each.
		if err := r.send(client); err != nil {
			return err
		}
		r.clients = append(r.clients, client)
	}

	r.phase(r.job.WarmUp)
	r.answer = answer{}
	r.once = sync.Once{}
	before, started := usage(), time.Now()
	r.phase(r.job.Sends)
	after := usage()
	r.answer.WallNs = time.Since(started).Nanoseconds()
	r.answer.UserNs = after.Utime.Nano() - before.Utime.Nano()
	r.answer.SystemNs = after.Stime.Nano() - before.Stime.Nano()
	r.answer.WarmUpCPUNs = before.Utime.Nano() + before.Stime.Nano()
	r.answer.PeakMemoryMegabytes = peakMemory()
	return json.NewEncoder(os.Stdout).Encode(r.answer)
}

// Sends so many requests over all connections and waits for the last answer.
func (r *run) phase(count int64) {
	var started int64
	var streams sync.WaitGroup
	for _, client := range r.clients {
		for s := 0; s < r.job.Streams; s++ {
			streams.Add(1)
			go func(client *http.Client) {
				defer streams.Done()
				for atomic.AddInt64(&started, 1) <= count {
					if err := r.send(client); err != nil {
						atomic.AddInt64(&r.answer.Failed, 1)
						r.once.Do(func() { r.answer.FirstError = err.Error() })
					} else {
						atomic.AddInt64(&r.answer.Sent, 1)
					}
				}
			}(client)
		}
	}
	streams.Wait()
}

func (r *run) send(client *http.Client) error {
	request, err := http.NewRequest(http.MethodPost, r.job.URL, strings.NewReader(r.job.Body))
	if err != nil {
		return err
	}
	// Shared by all requests: the transport reads it only.
	request.Header = r.header
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	length, err := io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err != nil {
		return err
	}
	if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK || length == 0 {
		return fmt.Errorf("%s, status %d, %d bytes", response.Proto, response.StatusCode, length)
	}
	return nil
}

func usage() syscall.Rusage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used
}

func peakMemory() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		var kilobytes float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kilobytes); err == nil {
			return kilobytes / 1024
		}
	}
	return 0
}
