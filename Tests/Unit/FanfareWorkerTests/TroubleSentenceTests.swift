import FanfareCore
import Testing

@testable import FanfareWorker

@Suite struct TroubleSentenceTests {
    @Test(arguments: [Reachability.Service.fcm, .tokenEndpoint, .instanceID])
    func unreachableServiceNamesTheProxySetting(service: Reachability.Service) {
        let sentence = TroubleReporter.sentence(
            service,
            cause: "Couldn't connect to server (libcurl 7)",
            hasProxy: false
        )
        #expect(sentence.contains("set `proxy` (HTTPS_PROXY has no effect)"), "\(sentence)")
    }

    @Test func configuredProxyIsNoRemedy() {
        let sentence = TroubleReporter.sentence(.fcm, cause: "timeout (libcurl 28)", hasProxy: true)
        #expect(!sentence.contains("set `proxy`"), "\(sentence)")
        #expect(sentence.contains("the proxy."), "\(sentence)")
    }

    @Test func refusalOfTheProxyNamesItsUserInstead() {
        let cause = "CONNECT tunnel failed, response 407 (libcurl 56)"
        let sentence = TroubleReporter.sentence(.fcm, cause: cause, hasProxy: true)
        #expect(sentence.contains("set proxy_user and proxy_password_file"), "\(sentence)")
        #expect(!sentence.contains("HTTPS_PROXY"), "\(sentence)")
    }
}
