internal import FanfareHTTP

/// The static files of the page.
enum PageAssets {
    /// A file by its path, `/app.js`.
    static func file(_ path: String) -> WebReply? {
        switch path {
        case "/index.html": return page(depth: 0)
        case "/icon.svg": return WebReply(status: 200, type: "image/svg+xml", bytes: PackageResources.icon_svg)
        default: return styles[path].map { text("text/css", $0) } ?? scripts[path].map { text("text/javascript", $0) }
        }
    }

    static var scriptPaths: [String] { scripts.keys.sorted() }

    private static let styles = [
        "/app.css": PackageResources.app_css, "/detail.css": PackageResources.detail_css,
    ].mapValues(compact)

    private static let scripts = [
        "/actions.js": PackageResources.actions_js, "/app.js": PackageResources.app_js,
        "/audit.js": PackageResources.audit_js, "/charts.js": PackageResources.charts_js,
        "/day.js": PackageResources.day_js, "/dead.js": PackageResources.dead_js, "/dom.js": PackageResources.dom_js,
        "/job.js": PackageResources.job_js,
        "/jobs.js": PackageResources.jobs_js, "/live.js": PackageResources.live_js,
        "/overview.js": PackageResources.overview_js, "/project.js": PackageResources.project_js,
        "/redis.js": PackageResources.redis_js, "/router.js": PackageResources.router_js,
        "/runbook.js": PackageResources.runbook_js,
        "/token.js": PackageResources.token_js,
    ].mapValues(compact)

    /// A script or a style without indentation, empty lines, and comments that have lines of their own.
    static func compact(_ bytes: [UInt8]) -> [UInt8] {
        var lines: [Substring] = []
        var isComment = false
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let text = line.drop { $0 == " " }
            if isComment {
                isComment = !text.hasSuffix("*/")
            } else if text.hasPrefix("/*") {
                isComment = !text.hasSuffix("*/")
            } else if !text.isEmpty, !text.hasPrefix("//") {
                lines.append(text)
            }
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// The page for an address of one of its views; nil for any other path.
    ///
    /// - Parameters:
    ///   - parts: the decoded parts of the path.
    ///   - path: the path as it was requested.
    static func page(_ parts: [String], path: String) -> WebReply? {
        switch parts.first {
        case nil, "p", "jobs", "token", "audit", "redis", "runbook":
            return page(depth: path.utf8.count { $0 == UInt8(ascii: "/") } - 1)
        default: return nil
        }
    }

    /// The page with a base that leads from an address of `depth` folders to the root of the page. The base is relative,
    /// because a proxy may serve the page below a prefix that the server does not know.
    private static func page(depth: Int) -> WebReply {
        var bytes = PackageResources.index_html
        if depth > 0, let base = bytes.firstRange(of: Array(#"<base href="./">"#.utf8)) {
            let steps = String(repeating: "../", count: depth)
            bytes.replaceSubrange(base, with: Array(#"<base href="\#(steps)">"#.utf8))
        }
        return text("text/html", bytes)
    }

    private static func text(_ type: String, _ bytes: [UInt8]) -> WebReply {
        WebReply(status: 200, type: "\(type); charset=utf-8", bytes: bytes)
    }
}
