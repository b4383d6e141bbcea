internal import CurlTransport
internal import FanfareConfiguration
internal import FanfareModel
internal import Glibc

extension Check {
    /// The libraries that send.
    static let libraries = Check("libcurl") { subject, report in
        let curl = subject.curl
        let text = "\(curl.version) with \(curl.tls)"
        if !curl.hasHTTP2 {
            report.fail("\(text), without HTTP/2: one send at a time", "install a libcurl built with nghttp2")
        } else if !curl.tls.hasPrefix("OpenSSL/") {
            report.warn("\(text), not OpenSSL", "install the OpenSSL build (libcurl4); no other is tested")
        } else if !curl.looksUpNamesAside {
            let remedy = "install a libcurl with a threaded resolver"
            report.warn("\(text): a slow name server would block all sends", remedy)
        } else {
            report.ok("\(text), HTTP/2")
        }
    }

    /// Whether the limit of open files suffices for the connections of all projects. Below ``leastFiles`` for each,
    /// projects wait for each other's connections.
    static let descriptors = Check("descriptors") { subject, report in
        let worker = subject.configuration.worker
        // Lanes to FCM and to Instance ID, XMPP connections with up to 100 messages each, and 64 for the process itself.
        let each = subject.configuration.projects.map { project in
            2 * worker.maximumLanes + (project.traits.route.isHTTP ? 0 : worker.maximumInFlight / 100 + 1)
        }
        let need = UInt64(each.reduce(64, +))
        guard let limit = subject.fileLimit else { return }
        let text = "at most \(limit) open files"
        guard limit < need else { return report.ok("\(text), a worker needs about \(need)") }
        let least = UInt64(64 + leastFiles * each.count)
        guard limit >= least else {
            let remedy = "raise the limit (ulimit -n, LimitNOFILE=), or spread the projects over several workers"
            return report.fail("\(text), and \(each.count) projects need at least \(least)", remedy)
        }
        let remedy = "raise the limit (ulimit -n, LimitNOFILE=), or lower worker.max_lanes"
        report.warn("\(text), and a worker of this configuration may need \(need)", remedy)
    }

    /// A project's connections to FCM, to Instance ID and to the token endpoint, one of each.
    private static let leastFiles = 3

    /// Variables that other programs obey and Fanfare ignores: the operator may rely on them.
    static let environment = Check("environment") { subject, report in
        for variable in subject.ignoredVariables {
            let isProxy = variable.lowercased().hasSuffix("_proxy")
            let remedy =
                isProxy
                ? "set `proxy` in the configuration, or unset the variable" : "name a private authority in tls.ca_file"
            report.warn("\(variable) is set and has no effect here", remedy)
        }
    }
}

extension Check.Subject {
    /// The soft limit of open files; nil if it cannot be read.
    static var currentFileLimit: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return UInt64(limit.rlim_cur)
    }
}
