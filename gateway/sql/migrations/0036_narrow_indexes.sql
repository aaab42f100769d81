-- phase: after
-- Those of 0034 and 0035 serve everything that these did: a request still has as many entries as before, two of them a little longer.
drop index request_label, request_node;
-- functions: c3043b2a423f15b4be05af5c9fd48fa31bf4dfb2ea0fa1108ebd14cca3711832
