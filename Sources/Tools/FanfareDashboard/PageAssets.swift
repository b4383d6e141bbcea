/// The static files of the page.
enum PageAssets {
    static func file(_ path: String) -> WebReply? {
        switch path {
        case "/", "/index.html": return file("text/html", PackageResources.index_html)
        case "/app.css": return file("text/css", PackageResources.app_css)
        case "/app.js": return file("text/javascript", PackageResources.app_js)
        case "/views.js": return file("text/javascript", PackageResources.views_js)
        case "/details.js": return file("text/javascript", PackageResources.details_js)
        case "/charts.js": return file("text/javascript", PackageResources.charts_js)
        case "/dom.js": return file("text/javascript", PackageResources.dom_js)
        case "/icon.svg": return WebReply(status: 200, type: "image/svg+xml", bytes: PackageResources.icon_svg)
        default: return nil
        }
    }

    private static func file(_ type: String, _ bytes: [UInt8]) -> WebReply {
        WebReply(status: 200, type: "\(type); charset=utf-8", bytes: bytes)
    }
}
