internal import CurlTransport
internal import FanfareConfiguration
internal import FanfareModel
internal import Glibc

extension Check {
    /// The libraries that send.
    static let libraries = Check { _ in libraries(CurlLibrary.current) }

    static func libraries(_ curl: CurlLibrary) -> [Finding] {
        let name = "libcurl"
        let text = "\(curl.version) with \(curl.tls)"
        if !curl.hasHTTP2 {
            return [.fail(name, "\(text), without HTTP/2: one send at a time", "install a libcurl built with nghttp2")]
        }
        if !curl.tls.hasPrefix("OpenSSL/") {
            let remedy = "install the OpenSSL build (libcurl4); no other is tested"
            return [.warn(name, "\(text), not OpenSSL", remedy)]
        }
        if !curl.looksUpNamesAside {
            let remedy = "install a libcurl with a threaded resolver"
            return [.warn(name, "\(text): a slow name server would block all sends", remedy)]
        }
        return [.ok(name, "\(text), HTTP/2")]
    }

    /// Whether the limit of open files suffices for the connections of all projects.
    static let descriptors = Check { subject in
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return [] }
        return descriptors(limit: UInt64(limit.rlim_cur), subject.configuration)
    }

    static func descriptors(limit: UInt64, _ configuration: Configuration) -> [Finding] {
        let name = "descriptors"
        // Lanes to FCM and to Instance ID, XMPP connections with up to 100 messages each, and 64 for the process itself.
        let lanes = UInt64(2 * configuration.worker.maxLanes)
        let each = configuration.projects.map { project -> UInt64 in
            project.transport == .xmpp ? lanes + UInt64(configuration.worker.maxInFlight / 100 + 1) : lanes
        }
        let need = each.reduce(64, +)
        let text = "at most \(limit) open files"
        guard limit < need else { return [.ok(name, "\(text), a worker needs about \(need)")] }
        let remedy = "raise the limit (ulimit -n, LimitNOFILE=), or lower worker.max_lanes"
        return [.fail(name, "\(text), and a worker of this configuration may need \(need)", remedy)]
    }

    /// Variables that other programs obey and Fanfare ignores: the operator may rely on them.
    static let environment = Check { subject in
        subject.ignoredVariables.map { variable in
            let isProxy = variable.lowercased().hasSuffix("_proxy")
            let remedy =
                isProxy
                ? "set `proxy` in the configuration, or unset the variable" : "name a private authority in tls.ca_file"
            return .warn("environment", "\(variable) is set and has no effect here", remedy)
        }
    }
}
