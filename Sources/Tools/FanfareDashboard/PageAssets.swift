/// The static files of the page.
enum PageAssets {
    static func file(_ path: String) -> WebReply? {
        switch path {
        case "/", "/index.html": return WebReply(200, "text/html; charset=utf-8", PackageResources.index_html)
        case "/app.css": return WebReply(200, "text/css; charset=utf-8", PackageResources.app_css)
        case "/app.js": return script(PackageResources.app_js)
        case "/views.js": return script(PackageResources.views_js)
        case "/details.js": return script(PackageResources.details_js)
        case "/charts.js": return script(PackageResources.charts_js)
        case "/dom.js": return script(PackageResources.dom_js)
        case "/icon.svg": return WebReply(200, "image/svg+xml", PackageResources.icon_svg)
        default: return nil
        }
    }

    private static func script(_ bytes: [UInt8]) -> WebReply {
        WebReply(200, "text/javascript; charset=utf-8", bytes)
    }
}
