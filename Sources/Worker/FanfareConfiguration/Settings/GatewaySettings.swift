extension Configuration {
    /// The settings under `gateway`.
    public struct Gateway: Equatable, Sendable {
        public var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8_470)
        public var certificateFile: ConfiguredFile?
        public var keyFile: ConfiguredFile?
        /// Whether a proxy ends TLS.
        public var isBehindProxy = false
        /// The folder with a file for each key; nil if none is configured.
        public var keysFolder: ConfiguredFile?
        public var waitMs: Int64 = 4_000
        public var maximumWaiting = 20_000
        public var maximumConnections = 10_000
        /// Address of `/metrics`, `/healthz` and `/readyz`; nil: they are not served.
        public var adminListen: ListenAddress?

        public init() {}

        /// Values that are valid alone and contradict each other.
        func contradictions() -> [String] {
            if (certificateFile == nil) != (keyFile == nil) { return ["gateway: cert_file and key_file go together"] }
            guard certificateFile == nil, !isBehindProxy, !listen.isLocal else { return [] }
            return [
                "gateway.listen: others than this machine can reach \(listen), so it needs TLS: gateway.cert_file and "
                    + "gateway.key_file; or set gateway.behind_proxy: true if a proxy ends TLS, or listen on 127.0.0.1 or "
                    + "unix:///path"
            ]
        }
    }
}

extension Settings {
    static let gateway: [Setting] = [
        Setting("gateway.listen", \.gateway.listen) {
            "Address of `fanfare gateway`. One that other machines can reach needs `gateway.cert_file` and "
                + "`gateway.key_file`, or `gateway.behind_proxy`."
        },
        Setting("gateway.cert_file", \.gateway.certificateFile) {
            "The gateway's certificate (PEM) with its chain."
        },
        Setting("gateway.key_file", \.gateway.keyFile) {
            "The key (PEM) of that certificate. Readable by others: a warning."
        },
        Setting("gateway.behind_proxy", \.gateway.isBehindProxy) {
            "`true`: plain HTTP on any address, because a proxy ends TLS."
        },
        Setting("gateway.keys_dir", \.gateway.keysFolder) {
            "Folder of the gateway's keys, one YAML file each, which `fanfare gateway key add` writes: `name`, `sha256` "
                + "(or `public_key` of a service account), `projects`, `rights` (push, read, operate), `rate` (requests a minute) and `priority_max`."
        },
        Setting("gateway.wait_ms", \.gateway.waitMs, .integer(0...60_000)) {
            "How long a send waits for its result. Some of Google's SDKs give up after 5 s. The header `X-Fanfare-Wait` "
                + "changes it for one request."
        },
        Setting("gateway.max_waiting", \.gateway.maximumWaiting, .integer(1...1_000_000)) {
            "Requests that wait at once; more get 503."
        },
        Setting("gateway.max_connections", \.gateway.maximumConnections, .integer(1...1_000_000)) {
            "Connections at once. Some SDKs open hundreds for one call."
        },
        Setting("gateway.admin_listen", \.gateway.adminListen) {
            "Address of the gateway's `/metrics`, `/healthz` and `/readyz`; another than `admin.listen`, which is the workers'. "
                + "Without one they are not served. An address that other machines can reach needs the token of "
                + "`admin.token_file`."
        },
    ]
}
