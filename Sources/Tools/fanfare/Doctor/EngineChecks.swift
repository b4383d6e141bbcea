internal import FanfareConfiguration
internal import FanfareModel
internal import NGHTTP2Transport

extension Check {
    /// The engine that carries each project's HTTP requests.
    static let engines = Check("http_engine") { subject, report in
        for project in subject.configuration.projects {
            report.check = "http_engine of \(project.id)"
            switch project.httpEngine {
            case .curl: report.ok("curl")
            case .nghttp2: report.ok("nghttp2 \(NGHTTP2Library.version)")
            }
        }
    }
}

extension HTTPEngine {
    /// Reports an endpoint that answered over HTTP/1.1: nghttp2 cannot send to it, libcurl sends slowly.
    func reportHTTP1(in report: inout Report) {
        switch self {
        case .nghttp2:
            report.fail(
                "answered over HTTP/1.1, and http_engine nghttp2 speaks HTTP/2 only: nothing can be sent",
                "set `http_engine: curl`, or look for a proxy on the route that speaks HTTP/1.1 only"
            )
        case .curl:
            report.warn(
                "answered over HTTP/1.1: one send at a time on each connection",
                "look for a proxy on the route that speaks HTTP/1.1 only"
            )
        }
    }
}
