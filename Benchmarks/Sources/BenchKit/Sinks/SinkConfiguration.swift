/// The sink's nginx.conf.
struct SinkConfiguration {
    let port: UInt16
    let certificates: Certificates
    let traits: Sink.Traits
    let folder: String
    let echoModule: String?

    var text: String {
        """
        # One process without a master: what it uses is what the sink uses, and nothing is left when it ends.
        \(echoModule.map { "load_module \($0);" } ?? "")
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        error_log \(folder)/nginx-errors.log warn;
        events { worker_connections 4096; }
        http {
            access_log off;
            server_tokens off;
            default_type application/json;
            client_body_temp_path \(folder)/nginx-body;
            proxy_temp_path \(folder)/nginx-proxy;
            fastcgi_temp_path \(folder)/nginx-fastcgi;
            uwsgi_temp_path \(folder)/nginx-uwsgi;
            scgi_temp_path \(folder)/nginx-scgi;
            client_body_buffer_size 512k;
            keepalive_requests 1000000000;
            keepalive_timeout 1h;
            http2_max_concurrent_streams \(traits.streams);
        \(FailingAnswers.split)
            server {
                listen 127.0.0.1:\(port) ssl http2 backlog=4096;
                server_name localhost;
                ssl_certificate \(certificates.certificate);
                ssl_certificate_key \(certificates.key);
                ssl_protocols TLSv1.2 TLSv1.3;
                ssl_session_cache shared:tls:1m;
                location = /v1/projects/\(Sink.project)/messages:send {
                    \(delayed(Self.accepted))
                }
                location = /v1/projects/\(Sink.failingProject)/messages:send {
        \(FailingAnswers.branches)
                    return 200 '\(Self.accepted)';
                }
        \(traits.servesMulticast ? MulticastAnswer.location : "")
                location = /token {
                    return 200 '{"access_token":"\(Sink.accessToken)","expires_in":3599,"token_type":"Bearer"}';
                }
                location / { return 404 '{"error":{"code":404,"status":"NOT_FOUND"}}'; }
            }
        }

        """
    }

    private static let accepted = #"{"name":"projects/\#(Sink.project)/messages/0:1"}"#

    private func delayed(_ body: String) -> String {
        traits.delaySeconds > 0
            ? "echo_sleep \(traits.delaySeconds); echo_read_request_body; echo -n '\(body)';"
            : "return 200 '\(body)';"
    }
}

/// What FCM's legacy endpoint answers to a request of 1,000 recipients that all went well.
private enum MulticastAnswer {
    /// In pieces, because nginx takes no word longer than 4 KB. The body is read first: it is most of what a client has
    /// to do, and an answer to its head alone would let the client stop.
    static let location = """
                set $fifty '\(Array(repeating: result, count: 50).joined(separator: ","))';
                location = /fcm/send {
                    echo_read_request_body;
                    echo -n '{"multicast_id":1,"success":1000,"failure":0,"canonical_ids":0,"results":[';
                    echo_duplicate 19 '$fifty,';
                    echo -n '$fifty]}';
                }
        """

    private static let result = #"{"message_id":"0:1500415314455276%31bd1c96f9fd7ecd"}"#
}

/// One send in twenty fails, as drawn by nginx: three in a hundred for good, two in a hundred until they are sent again.
enum FailingAnswers {
    static let permanentShare = 0.03

    /// Whether about as many recipients failed for good as should.
    static func isPlausible(failed: Int, of sends: Int) -> Bool {
        abs(Double(failed) / Double(sends) - permanentShare) < permanentShare / 2
    }

    static let split = """
            split_clients "$request_id" $fate {
                2% unregistered;
                1% invalid;
                1% unavailable;
                1% internal;
                * accepted;
            }
        """

    /// Without Retry-After, which would make the project wait: what is measured is the work of a retry.
    static let branches = [
        branch("unregistered", 404, "NOT_FOUND", fcmError("UNREGISTERED")),
        branch("invalid", 400, "INVALID_ARGUMENT", fcmError("INVALID_ARGUMENT") + "," + badToken),
        branch("unavailable", 503, "UNAVAILABLE", fcmError("UNAVAILABLE")),
        branch("internal", 500, "INTERNAL", fcmError("INTERNAL")),
    ].joined(separator: "\n")

    private static func fcmError(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static let badToken = #"""
        {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token",\#
        "description":"Invalid registration token"}]}
        """#

    private static func branch(_ fate: String, _ code: Int, _ status: String, _ details: String) -> String {
        let error = #"{"error":{"code":\#(code),"message":"\#(fate)","status":"\#(status)","details":[\#(details)]}}"#
        return "            if ($fate = \(fate)) { return \(code) '\(error)'; }"
    }
}
