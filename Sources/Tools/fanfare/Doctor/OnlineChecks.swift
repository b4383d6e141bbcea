internal import CurlTransport
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareModel
internal import Foundation
internal import OpenSSLKit

extension Check {
    /// The route to FCM and the rights of the credentials, tested with a worker's own rules.
    static let online = Check { subject in
        guard subject.isOnline else { return [] }
        var findings: [Finding] = []
        for project in subject.configuration.projects {
            let probe = OnlineProbe(configuration: subject.configuration, project: project)
            findings += await withCheckedContinuation { continuation in
                // The probe blocks until the server answers.
                DispatchQueue.global().async { continuation.resume(returning: probe.findings()) }
            }
        }
        return findings
    }
}

/// Tests one project. Blocks.
struct OnlineProbe: Sendable {
    let configuration: Configuration
    let project: Configuration.Project

    private var origin: OriginConfiguration {
        OriginConfiguration(caFile: configuration.caFile?.path, proxy: configuration.proxy)
    }

    func findings() -> [Finding] {
        switch project.transport {
        case .v1: return v1()
        case .legacy: return [reach("FCM of \(project.id)", project.endpoint)]
        case .xmpp: return [xmpp()]
        }
    }

    // MARK: v1

    private func v1() -> [Finding] {
        let name = "token of \(project.id)"
        var one = configuration
        one.projects = [project]
        guard let bytes = (try? one.loadSecrets())?.serviceAccounts[project.id] else {
            return [reach("FCM of \(project.id)", project.endpoint)]
        }
        let token: AccessToken
        do {
            let account = try ServiceAccount.parse(bytes)
            let input = TokenRequest.signingInput(account: account, nowSeconds: Int64(Date().timeIntervalSince1970))
            let report = try EndpointProbe.run(
                url: account.tokenURI,
                headers: ["Content-Type: application/x-www-form-urlencoded"],
                body: TokenRequest.body(
                    signingInput: input,
                    signature: try RS256Signer(pem: account.privateKey).sign(input)
                ),
                configuration: origin
            )
            token = try TokenRequest.parse(report.answer).get()
            return [Self.grant(token, name)] + fcm(account, token)
        } catch let error as EndpointProbe.Failure {
            return [.fail(name, "the token endpoint cannot be reached: \(error.reason)", Self.remedy(error))]
        } catch let error as TokenError {
            let remedy =
                error.isAboutTime
                ? "set this machine's clock (NTP)"
                : error.isRetryable
                    ? "try again later" : "make a new key for the service account and name its file in credentials"
            return [.fail(name, "refused by the token endpoint: \(error)", remedy)]
        } catch {
            return [.fail(name, "\(error)", "make a new key for the service account and name its file in credentials")]
        }
    }

    private static func grant(_ token: AccessToken, _ name: String) -> Finding {
        guard let lifetime = token.lifetimeTrouble else {
            return .ok(name, "received, valid for \(token.expiresInSeconds) s")
        }
        return .warn(name, "the token endpoint answered with expires_in \(lifetime)", "check what answers at token_uri")
    }

    /// Has FCM validate a message to an invalid token, which shows whether the credential may send.
    private func fcm(_ account: ServiceAccount, _ token: AccessToken) -> [Finding] {
        let name = "FCM of \(project.id)"
        let body = #"{"validate_only":true,"message":{"token":"fanfare-doctor","data":{}}}"#
        let report: EndpointProbe.Report
        do {
            report = try EndpointProbe.run(
                url: "\(project.endpoint)/v1/projects/\(account.projectID ?? project.id)/messages:send",
                headers: ["Authorization: Bearer \(token.value)", "Content-Type: application/json; charset=utf-8"],
                body: Array(body.utf8),
                configuration: origin
            )
        } catch {
            return [.fail(name, "\(project.endpoint) cannot be reached: \(error.reason)", Self.remedy(error))]
        }
        let status = report.answer.status
        var findings: [Finding] = []
        // The verdict that a worker would give.
        switch V1Response.verdict(.answered(report.answer), kind: .token, nowMs: 0, atMostOnce: false) {
        case .sent, .sentPartly, .managed, .failed, .unknown:
            findings.append(.ok(name, "the credential may send (HTTP \(status) for a test message)"))
        case .retry(let retry):
            let text = "HTTP \(status) for a test message: \(retry.failure.error.rawValue)"
            findings.append(.warn(name, text, "try again later; see Google's status page"))
        case .refreshCredential(let failure), .blockProject(let failure):
            let remedy =
                status == 403
                ? "grant the service account the role Firebase Cloud Messaging API Admin, and enable the API"
                : "check the service account, the project_id in it, and the project's endpoint"
            findings.append(.fail(name, "HTTP \(status), nothing can be sent: \(failure.rawError)", remedy))
        }
        if !report.isHTTP2 {
            let remedy = "look for a proxy on the route that speaks HTTP/1.1 only"
            findings.append(.warn(name, "answered over HTTP/1.1: one send at a time on each connection", remedy))
        }
        return findings
    }

    // MARK: The route alone

    private func reach(_ name: String, _ endpoint: String) -> Finding {
        do {
            let report = try EndpointProbe.run(url: endpoint + "/", configuration: origin)
            return .ok(name, "\(endpoint) answers over verified TLS, HTTP/\(report.isHTTP2 ? "2" : "1.1")")
        } catch {
            return .fail(name, "\(endpoint) cannot be reached: \(error.reason)", Self.remedy(error))
        }
    }

    private func xmpp() -> Finding {
        let name = "XMPP of \(project.id)"
        let place = "\(project.xmppHost):\(project.xmppPort)"
        do {
            try EndpointProbe.connect(host: project.xmppHost, port: project.xmppPort, configuration: origin)
            return .ok(name, "\(place) answers over verified TLS")
        } catch {
            return .fail(name, "\(place) cannot be reached: \(error.reason)", Self.remedy(error))
        }
    }

    private static func remedy(_ failure: EndpointProbe.Failure) -> String {
        failure.isAboutTLS
            ? "check the address; if the authority is private, name its certificate in tls.ca_file"
            : "check the address, name service, firewall and proxy: workers need outbound 443"
    }
}
