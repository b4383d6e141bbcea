import Testing

@testable import FanfareConfiguration

@Suite struct ConfigurationFaultTests {
    struct Row: Sendable {
        var yaml: String
        var fault: String
    }

    private static let proxyForm =
        "must be http://host:port, with user:password@ before the host if the proxy asks for them"
    private static let proxied =
        "nghttp2 does not use a proxy, and proxy is set; set http_engine: curl, or remove the proxy"

    @Test(arguments: [
        Row(yaml: "redsi: { url: x }", fault: "redsi (line 1): unknown key; did you mean redis?"),
        Row(yaml: "redis:\n  ulr: x", fault: "redis.ulr (line 2): unknown key; did you mean redis.url?"),
        Row(
            yaml: "projects:\n  demo:\n    credentails: x",
            fault: "projects.demo.credentails (line 3): unknown key; did you mean projects.demo.credentials?"
        ),
        Row(yaml: "max_lanes: 3", fault: "max_lanes (line 1): unknown key; did you mean worker.max_lanes?"),
        Row(yaml: "zzzzzzzzzzzz: 3", fault: "zzzzzzzzzzzz (line 1): unknown key"),
        Row(yaml: "worker: { max_lanes: 0 }", fault: "worker.max_lanes (line 1): 0, must be 1 to 1000"),
        Row(yaml: "worker: { max_lanes: 1e2 }", fault: "worker.max_lanes (line 1): 1e2 is not a whole number"),
        Row(
            yaml: "worker: { max_lanes: 99999999999999999999 }",
            fault: "worker.max_lanes (line 1): 99999999999999999999 is not a whole number"
        ),
        Row(yaml: "worker: { max_lanes: }", fault: "worker.max_lanes (line 1): no value"),
        Row(yaml: "worker: { max_lanes: [1] }", fault: "worker.max_lanes (line 1): must be one value"),
        Row(yaml: "worker: { window: 0 }", fault: "worker.watermark_step (line 1): 0, must be 1 to 1000"),
        Row(
            yaml: "worker:\n  watermark_step: 8\n  window: 8",
            fault: "worker.window (line 3): also given under its other name; remove one of them"
        ),
        Row(yaml: "worker: 3", fault: "worker (line 1): must be a mapping of keys to values"),
        Row(yaml: "log: { format: xml }", fault: "log.format (line 1): xml is none of text, json"),
        Row(
            yaml: "redis: { url: \"http://user:secret@host\" }",
            fault: "redis.url (line 1): must start with redis://, rediss://, unix://, redis-sentinel://, "
                + "rediss-sentinel://, redis-cluster://, rediss-cluster://"
        ),
        Row(
            yaml: "redis: { url: \"127.0.0.1:6379\" }",
            fault: "redis.url (line 1): did you mean redis://127.0.0.1:6379?"
        ),
        Row(yaml: "redis: { url: \"user:5678\" }", fault: "redis.url (line 1): write redis:// before host and port"),
        Row(
            yaml: "projects: { Demo: {} }",
            fault: "projects (line 1): a project id must match [a-z0-9][a-z0-9-]{0,62}"
        ),
        Row(yaml: "projects: [demo]", fault: "projects (line 1): must be a mapping of project ids"),
        Row(
            yaml: "projects: { a: { topics: news } }",
            fault: "projects.a.topics (line 1): must be a mapping of topics to numbers"
        ),
        Row(
            yaml: "projects: { a: { topics: { \"ne ws\": 1 } } }",
            fault: "projects.a.topics (line 1): ne ws is no topic: 1 to 900 of A-Z a-z 0-9 - _ . ~ %"
        ),
        Row(
            yaml: "projects: { a: { topics: { \"n=1\": 1 } } }",
            fault: "projects.a.topics (line 1): n=1 is no topic"
        ),
        Row(
            yaml: "projects:\n  a:\n    topics:\n      news: many",
            fault: "projects.a.topics (line 4): news: many is not a whole number"
        ),
        Row(
            yaml: "projects: { a: { topics: { news: -1 } } }",
            fault: "projects.a.topics (line 1): news: -1, must be 0 to 1000000000000"
        ),
        Row(
            yaml: "projects: { a: { topics: { news: [1] } } }",
            fault: "projects.a.topics (line 1): must be topics and numbers"
        ),
        Row(yaml: "allowed_hosts: one.example", fault: "allowed_hosts (line 1): must be a list"),
        Row(
            yaml: "allowed_hosts: [\"https://x\"]",
            fault: "allowed_hosts (line 1): https://x is not a host name (no scheme, no port)"
        ),
        Row(yaml: "admin: { listen: 9464 }", fault: "admin.listen (line 1): must be host:port or unix:///path"),
        Row(
            yaml: "admin: { listen: \"unix://admin.sock\" }",
            fault: "admin.listen (line 1): must be host:port or unix:///path"
        ),
        Row(yaml: "proxy: https://p:1", fault: "proxy (line 1): \(proxyForm); no other scheme is supported"),
        Row(yaml: "proxy: socks5://p:1", fault: "proxy (line 1): \(proxyForm); no other scheme is supported"),
        Row(yaml: "proxy: p:1", fault: "proxy (line 1): \(proxyForm); write http:// before it"),
        Row(yaml: "proxy: http://p:1/path", fault: "proxy (line 1): \(proxyForm)"),
        Row(
            yaml: "proxy: http://u:secret/secret@p:1",
            fault: "proxy (line 1): \(proxyForm); in user and password percent-encode / as %2F, ? as %3F, # as %23, "
                + "@ as %40 and % as %25"
        ),
        Row(
            yaml: "proxy: http://u:secret%@p:1",
            fault: "proxy (line 1): has a user or password with a % that is not percent-encoded as %25"
        ),
        Row(
            yaml: "proxy: http://u:secret%0A@p:1",
            fault: "proxy (line 1): has a user or password with a control character"
        ),
        Row(yaml: "proxy: http://:secret@p:1", fault: "proxy (line 1): names a password without a user"),
        Row(
            yaml: "proxy: http://u%3A:secret@p:1",
            fault: "proxy (line 1): names a user with a colon, which no proxy can read"
        ),
        Row(
            yaml: "proxy: http://u:secret@p:1\nproxy_user: u",
            fault: "proxy_user: proxy names a user too; leave one out"
        ),
        Row(yaml: "proxy: http://p:1\nproxy_user: \"u:\"", fault: "proxy_user: has a colon, which no proxy can read"),
        Row(yaml: "http_engine: nio", fault: "http_engine (line 1): nio is none of curl, nghttp2"),
        Row(
            yaml: "projects: { a: { http_engine: nio } }",
            fault: "projects.a.http_engine (line 1): nio is none of curl, nghttp2"
        ),
        Row(
            yaml: "proxy: http://p:1\nhttp_engine: nghttp2\nprojects: { a: {}, b: { http_engine: nghttp2 } }",
            fault: "http_engine: \(proxied)"
        ),
        Row(
            yaml: "proxy: http://p:1\nprojects: { a: {}, b: { transport: xmpp, http_engine: nghttp2 } }",
            fault: "projects.b.http_engine: \(proxied)"
        ),
        Row(yaml: "- a", fault: "the document must be a mapping of keys to values"),
        Row(
            yaml: "worker: { renew_ms: 5000 }",
            fault: "worker.renew_ms: 5000, at most a third of worker.lease_ms (10000)"
        ),
        Row(
            yaml: "projects: { a: { transport: legacy, topic_api: v1 } }",
            fault: "projects.a.topic_api: v1 needs a service account, and so transport v1, not legacy"
        ),
        Row(
            yaml: "projects: { a: { transport: xmpp, topic_api: v1 } }",
            fault: "projects.a.topic_api: v1 needs a service account, and so transport v1, not xmpp"
        ),
        Row(
            yaml: "projects: { a: { legacy_body: xml } }",
            fault: "projects.a.legacy_body (line 1): xml is none of json, text"
        ),
        Row(
            yaml: "projects: { a: { sender_id: my-app } }",
            fault: "projects.a.sender_id (line 1): my-app is not 1 to 32 digits"
        ),
        Row(
            yaml: "projects: { a: { host: xmpp.example } }",
            fault: "projects.a.host (line 1): host xmpp.example is not Google's, this machine's or listed in "
                + "allowed_hosts"
        ),
        Row(
            yaml: "projects: { a: { host: \"localhost:5236\" } }",
            fault: "projects.a.host (line 1): localhost:5236 is not a host name (no scheme, no port)"
        ),
        Row(
            yaml: "projects: { a: { iid_endpoint: https://iid.example } }",
            fault: "projects.a.iid_endpoint (line 1): host iid.example is not Google's, this machine's or listed in "
                + "allowed_hosts"
        ),
        Row(
            yaml: "redis: { url: \"redis://u:p@h\", user: v }",
            fault: "redis.user: redis.url names a user too; leave one out"
        ),
        Row(
            yaml: "redis: { sentinel_tls: maybe }",
            fault: "redis.sentinel_tls (line 1): maybe is none of same, yes, no"
        ),
        Row(yaml: "redis: { cert_file: a }", fault: "redis: cert_file and key_file go together"),
        Row(
            yaml: "prefix: \"a:b\"",
            fault: "prefix: at most 64 bytes, without braces, colons, quotes and spaces"
        ),
    ])
    func faultsNameTheirPlace(row: Row) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.load(yaml: row.yaml) }
        #expect(error.faults == [row.fault])
    }

    @Test func allFaultsAreReportedAtOnce() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.load(
                yaml: "a: 1\nworker: { max_lanes: x, name: \"\" }",
                environment: ["FANFARE_LOG_LEVEL": "loud"]
            )
        }
        #expect(error.faults.count == 4)
        #expect(error.faults.contains { $0.hasPrefix("log.level (FANFARE_LOG_LEVEL): loud is none of") })
    }

    @Test(arguments: ["a: [", "a: 1\na: 2", "a: &x 1\n\tb: 2", "\"\u{1}\"", "a: 1\n---\nb: 2"])
    func invalidYAMLIsRefused(yaml: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.load(yaml: yaml) }
        #expect(!error.faults.isEmpty)
    }

    @Test func syntaxErrorHidesTheLine() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.load(yaml: "redis: { url: \"redis://:secret@h\" ] }")
        }
        #expect(!error.description.contains("secret"))
    }

    @Test func nestedAliasesAreRefusedQuickly() throws {
        var yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...12 {
            let list = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            yaml += "a\(level): &a\(level) [\(list)]\n"
        }
        #expect(throws: ConfigurationError.self) { try Configuration.load(yaml: yaml) }
    }

    @Test func emptyFileIsAccepted() throws {
        #expect(try Configuration.load(yaml: "# nothing\n").projects.isEmpty)
        #expect(try Configuration.load(yaml: "").projects.isEmpty)
        #expect(try Configuration.load(yaml: "projects:\n  demo:\n").projects.map(\.id) == ["demo"])
    }
}
