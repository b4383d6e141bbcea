/// nginx in the place of FCM: TLS, HTTP/2, and the same answer to every send.
///
/// It answers as soon as the headers are there and throws the body away, so it costs as little as a server can; what
/// is measured is the client.
final class Sink {
    static let project = "demo"
    /// About as long as Google's: it travels with every request.
    static let accessToken = "ya29." + String(repeating: "fanfare-benchmark-", count: 11) + "token"

    let port: UInt16
    private let child: Child

    var origin: String { "https://localhost:\(port)" }
    var sendURL: String { "\(origin)/v1/projects/\(Self.project)/messages:send" }
    var tokenURL: String { "\(origin)/token" }

    init(certificates: Certificates, streams: Int, in workspace: Workspace) throws {
        let nginx = try Tool.nginx.found()
        port = try Loopback.freePort()
        let text = Self.configuration(port: port, certificates: certificates, streams: streams, folder: workspace.path)
        let file = try workspace.write(text, to: "nginx.conf")
        let log = workspace.file("nginx-errors.log")
        child = try Child("nginx", nginx, ["-p", workspace.path, "-c", file, "-e", log], in: workspace)
        do {
            try Patience.wait(for: "nginx", seconds: 10) {
                try child.throwIfEnded()
                return Loopback.accepts(port: port) ? () : nil
            }
        } catch {
            child.stop()
            throw error
        }
    }

    func cpuNs() throws -> Int { try child.cpuNs() }
    func stop() { child.stop() }

    private static func configuration(
        port: UInt16,
        certificates: Certificates,
        streams: Int,
        folder: String
    ) -> String {
        """
        # One process without a master: what it uses is what the sink uses, and nothing is left when it ends.
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
            keepalive_requests 1000000000;
            keepalive_timeout 1h;
            http2_max_concurrent_streams \(streams);
            server {
                listen 127.0.0.1:\(port) ssl http2 backlog=4096;
                server_name localhost;
                ssl_certificate \(certificates.certificate);
                ssl_certificate_key \(certificates.key);
                ssl_protocols TLSv1.2 TLSv1.3;
                ssl_session_cache shared:tls:1m;
                location = /v1/projects/\(project)/messages:send {
                    return 200 '{"name":"projects/\(project)/messages/0:1"}';
                }
                location = /token {
                    return 200 '{"access_token":"\(accessToken)","expires_in":3599,"token_type":"Bearer"}';
                }
                location / { return 404 '{"error":{"code":404,"status":"NOT_FOUND"}}'; }
            }
        }

        """
    }
}
