import FanfareConfiguration
import Foundation
import Testing

/// Checks the page Networks, which lists the hosts and ports for firewall rules.
@Suite struct NetworksPageTests {
    /// The page lists the hosts that a worker connects to by default, and no other host of Google.
    @Test func networksPageListsTheDefaultHosts() throws {
        let page = try Page(Page.catalogue.appendingPathComponent("Networks.md"))
        let workers = try #require(page.text.components(separatedBy: "## Devices").first)
        let rows = workers.split(separator: "\n").filter { $0.hasPrefix("|") }.map { $0.split(separator: "|") }
        var ports: [String: String] = [:]
        for row in rows {
            for host in row[0].matches(of: /`([a-z0-9.-]+\.googleapis\.com)`/) {
                ports[String(host.1)] = String(row[1])
            }
        }
        let configuration = try Configuration.load(
            file: nil,
            environment: ["FANFARE_PROJECTS": "a,x", "FANFARE_PROJECTS_X_TRANSPORT": "xmpp"]
        )
        let project = try #require(configuration.projects.first { $0.id == "a" })
        let urls = [project.endpoint, project.iidEndpoint].compactMap { URL(string: $0) }
        // Access tokens come from the address in the service account's own file, which is Google's.
        let hosts = urls.compactMap(\.host) + ["oauth2.googleapis.com"]
        #expect(Set(ports.keys) == Set(hosts) && hosts.count == 3)
        #expect(urls.allSatisfy { $0.scheme == "https" && $0.port == nil })
        #expect(ports.values.allSatisfy { $0.contains("TCP 443") })
        let xmpp = try #require(rows.first { $0.count > 2 && $0[2].contains("transport: xmpp") })
        #expect(xmpp[1].contains("TCP \(project.xmppPort), or 5236"))
    }
}
