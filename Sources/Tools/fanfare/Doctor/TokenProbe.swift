internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareModel
internal import HTTPLanes
internal import OpenSSLKit

/// Exchanges a credential for an access token by the rules of a worker. Blocks.
struct TokenProbe {
    enum Failure: Error {
        case unreachable(TokenEndpoint, EndpointProbe.Failure)
        case refused(TokenError)
    }

    let credential: Credential
    let origin: OriginConfiguration

    func run() -> Result<AccessToken, Failure> {
        var exchange = TokenExchange(credential, nowSeconds: SystemClock.nowMs / 1_000)
        var action = exchange.start()
        while true {
            switch action {
            case .granted(let token): return .success(token)
            case .failed(let error): return .failure(.refused(error))
            case .readFile(let path):
                do throws(FileReader.Failure) {
                    action = exchange.fileRead(try FileReader.read(path, limit: Credential.maximumBytes).bytes)
                } catch {
                    action = exchange.fileRead(nil, fault: error.reason)
                }
            case .sign(let input):
                do {
                    let signer = try RS256Signer(pem: credential.privateKey ?? [])
                    action = exchange.signed(try signer.sign(input))
                } catch {
                    return .failure(.refused(TokenError(signing: "\(error)")))
                }
            case .send(let call):
                do throws(EndpointProbe.Failure) {
                    action = exchange.answered(try send(call), unixMs: SystemClock.nowMs)
                } catch {
                    return .failure(.unreachable(call.endpoint, error))
                }
            }
        }
    }

    private func send(_ call: TokenCall) throws(EndpointProbe.Failure) -> HTTPAnswer {
        let isPlain = call.allowsPlainHTTP && call.url.lowercased().hasPrefix("http://")
        return try EndpointProbe.run(
            url: call.url,
            headers: call.headers,
            body: call.method == .get ? nil : call.body,
            configuration: isPlain ? origin.forMetadata : origin
        ).answer
    }

    /// The identity that needs FCM's role: for the metadata server, the email that it names.
    var identity: String {
        guard case .metadata(let server) = credential,
            let report = try? EndpointProbe.run(
                url: server.emailURL,
                headers: [MetadataServer.header],
                configuration: origin.forMetadata
            ), report.answer.status == 200, report.answer.metadataFlavor == "Google"
        else { return credential.identity }
        let email = RawError.clean(report.answer.body)
        return email.isEmpty ? credential.identity : email
    }
}

/// Names the missing right when FCM refuses an access token.
enum PermissionAdvice {
    static func remedy(_ answer: HTTPAnswer, project: String, identity: String) -> String {
        guard answer.status == 403 else {
            return "check the credential, the project id in it, and the project's endpoint"
        }
        // The reason of Google's ErrorInfo.
        let body = String(decoding: answer.body.prefix(65_536), as: UTF8.self)
        if body.contains("SERVICE_DISABLED") {
            return "enable the API: gcloud services enable fcm.googleapis.com --project \(project)"
        }
        if body.contains("ACCESS_TOKEN_SCOPE_INSUFFICIENT") {
            return "give the machine the access scope cloud-platform: FCM's role alone is not enough there"
        }
        return "grant \(identity) the role roles/firebasecloudmessaging.admin on project \(project) (it holds "
            + "cloudmessaging.messages.create)"
    }
}
