// Google's client for Go, unmodified, with another endpoint.
//
//	send.go ORIGIN PROJECT TOKEN...
//
// GOOGLE_APPLICATION_CREDENTIALS names a service account file. Prints a name or an error for each token.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	fcm "google.golang.org/api/fcm/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
)

func main() {
	service, err := fcm.NewService(context.Background(), option.WithEndpoint(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	for _, token := range os.Args[3:] {
		message := &fcm.Message{Token: token, Notification: &fcm.Notification{Title: "Hello"}}
		request := &fcm.SendMessageRequest{Message: message}
		sent, err := service.Projects.Messages.Send("projects/"+os.Args[2], request).Do()
		var refusal *googleapi.Error
		switch {
		case errors.As(err, &refusal):
			fmt.Println(refusal.Code, refusal.Message)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(sent.Name)
		}
	}
}
