import FanfareCore
import FanfareModel
import Testing

@testable import FanfareWorker

@Suite struct ConditionSentenceTests {
    @Test(arguments: [Reachability.Service.messages, .tokenEndpoint, .management])
    func unreachableServiceNamesTheProxySetting(service: Reachability.Service) {
        let sentence = ConditionReporter.sentence(service, .connection, hasProxy: false)
        #expect(sentence.contains("set `proxy` (HTTPS_PROXY has no effect)"), "\(sentence)")
    }

    @Test func configuredProxyIsNoRemedy() {
        let sentence = ConditionReporter.sentence(.messages, .timeout, hasProxy: true)
        #expect(!sentence.contains("set `proxy`"), "\(sentence)")
        #expect(sentence.contains("the proxy."), "\(sentence)")
    }

    @Test func refusalOfTheProxyNamesItsUserInstead() {
        let sentence = ConditionReporter.sentence(.messages, .proxyLogin, hasProxy: true)
        #expect(sentence.contains("set proxy_user and proxy_password_file"), "\(sentence)")
        #expect(!sentence.contains("HTTPS_PROXY"), "\(sentence)")
    }
}
